// snippet.begin
import Accounts
import PurchaseLedger

/// Records a purchase for a new account, and returns the products that the account owns.
func recordPurchase(
  _ evidence: [UInt8], context: EvidenceContext, identity: StoreIdentity, ledgerPath: String
) async throws -> [String] {
  let ledger = try Ledger.create(at: ledgerPath, policy: LedgerPolicy(), clock: .system)
  defer { ledger.close() }
  let account = try await ledger.accounts.add(login: "anna@example.org", password: "a long password")

  // Evidence that an app posts has the channel `.app`: it must be signed by the store.
  let submission = Submission(evidence: evidence, context: context, account: account, channel: .operatorImport)
  let verifier = try EvidenceVerifier(identity: identity)
  let booking = try await ledger.book(submission, with: verifier)
  if let reason = booking.reason { print("\(booking.outcome): \(reason)") }

  // The answer is durable: it comes after the commit.
  let owned = try ledger.entitlements(of: account).filter { $0.status == .active }
  return owned.compactMap { $0.productID }
}
// snippet.end
