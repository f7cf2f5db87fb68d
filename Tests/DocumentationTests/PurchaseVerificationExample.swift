// snippet.begin
import PurchaseVerification

/// The products that a signed transaction pays for.
///
/// - Parameters:
///   - signed: `VerificationResult.jwsRepresentation` of StoreKit 2.
///   - root: Apple's root certificate in DER, as a resource of the app.
///   - now: milliseconds since 1970.
func productsPaid(by signed: String, root: [UInt8], bundleID: String, now: Int64) async throws -> [String] {
  let identity = StoreIdentity(rootCertificates: [root], bundleID: bundleID, environments: .only(.production))
  let verifier = try EvidenceVerifier(identity: identity)
  do {
    let evidence = try await verifier.verify(Array(signed.utf8), as: .transaction, at: now)
    // It verifies, but must wait: dated in the future, or fields that contradict each other.
    if let reason = evidence.quarantine { throw reason }
    return evidence.transactions.filter { $0.statement == .purchased }.compactMap(\.productID)
  } catch let error as VerificationError {
    print(error.code.rawValue, error.errorDescription ?? "", error.recoverySuggestion ?? "")
    throw error
  }
}
// snippet.end
