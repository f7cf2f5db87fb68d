import Crypto
import Support
import SwiftASN1
import X509

/// Verifies Apple's signed JSON: ES256 with a chain of exactly three certificates.
///
/// 1. Split the JWS, decode the payload and check the range of its signing date, before certificate code can see it.
/// 2. Take the header's chain from the cache, or verify it: algorithm, count, path to a pinned root, markers.
/// 3. Check that the chain was valid at the signing date.
/// 4. Check the signature. Hashing continues from the cached hash of the header.
struct JWSVerifier: Sendable {
  /// A verified payload.
  struct Opened: Sendable {
    let payload: JSONValue
    let signedDate: Int64
    /// Set if a name occurs twice in the payload, which JSON parsers read differently.
    let inconsistency: VerificationError?
  }

  let chains: ChainVerifier
  let cache: SigningChainCache

  /// Verifies and decodes.
  ///
  /// - Parameter trusted: True if the same bytes were accepted before. They are then only decoded.
  /// - Complexity: One ES256 check if the header's chain is cached, otherwise three more signature checks.
  func open(_ bytes: [UInt8], trusted: Bool) async throws(VerificationError) -> Opened {
    let jws = try CompactJWS(bytes)
    let payload = try jws.decodedPayload()
    guard payload.members != nil else { throw VerificationError(.malformed, "the payload is not a JSON object") }
    // An app transaction has no other date of its signature.
    let isOfApp = AppleFormat.kind(of: payload) == .appTransaction
    guard let date = payload["signedDate"] ?? (isOfApp ? payload["receiptCreationDate"] : nil) else {
      // An error in the header is more informative than a missing date.
      _ = try await chain(of: jws)
      throw VerificationError(.incomplete, "the payload has no \(isOfApp ? "receiptCreationDate" : "signedDate")")
    }
    guard let milliseconds = date.integer else {
      throw VerificationError(.dateOutOfRange, "signedDate is no date in milliseconds")
    }
    let signedDate = try FieldRules.signingDate(milliseconds, "signedDate")
    if !trusted {
      let chain = try await chain(of: jws)
      try chain.checkValidity(at: signedDate)
      try checkSignature(of: jws, by: chain)
    }
    return Opened(payload: payload, signedDate: signedDate, inconsistency: payload.repetition)
  }

  private func chain(of jws: CompactJWS) async throws(VerificationError) -> SigningChain {
    if let known = jws.bytes.withUnsafeBufferPointer({ cache.chain(for: .init(rebasing: $0[jws.header])) }) {
      return known
    }
    let certificates = try certificates(in: try jws.decodedHeader())
    // The third certificate is the sender's copy of the root. It must be the pinned root.
    var chain = try await chains.verify(
      leaf: certificates[0], intermediates: [certificates[1]], root: certificates[2])
    let header = Array(jws.bytes[jws.header])
    chain.hasher.update(data: header)
    chain.hasher.update(data: [UInt8(ascii: ".")])
    cache.store(chain, for: header)
    return chain
  }

  private func certificates(in header: JSONValue) throws(VerificationError) -> [Certificate] {
    if let repetition = header.repetition { throw VerificationError(.malformed, "the header: \(repetition.message)") }
    guard header["alg"]?.string == "ES256" else {
      throw VerificationError(
        .unsupportedAlgorithm, "signed with \(header["alg"]?.string ?? "no algorithm"), not ES256")
    }
    guard header["crit"] == nil else {
      throw VerificationError(.unsupportedAlgorithm, "the header requires extensions that are not supported (crit)")
    }
    let texts = header["x5c"]?.array ?? []
    guard texts.count == 3 else {
      throw VerificationError(.certificateCount, "the header has \(texts.count) certificates, not three")
    }
    var certificates: [Certificate] = []
    for (index, text) in texts.enumerated() {
      guard let der = text.string.flatMap({ Base64.decode($0.utf8) }),
        let certificate = try? Certificate(derEncoded: der)
      else { throw VerificationError(.malformed, "certificate \(index + 1) of the header is not X.509") }
      certificates.append(certificate)
    }
    return certificates
  }

  private func checkSignature(of jws: CompactJWS, by chain: SigningChain) throws(VerificationError) {
    guard case .p256(let key) = chain.key else {
      throw VerificationError(.unsupportedAlgorithm, "the leaf's key is not P-256, which ES256 needs")
    }
    guard let raw = Base64.decode(jws.bytes[jws.signature]),
      let signature = try? P256.Signing.ECDSASignature(rawRepresentation: raw)
    else { throw VerificationError(.badSignature, "the signature is not 64 bytes in base64url") }
    var hasher = chain.hasher
    jws.bytes.withUnsafeBytes { hasher.update(bufferPointer: .init(rebasing: $0[jws.payload])) }
    guard key.isValidSignature(signature, for: hasher.finalize()) else {
      throw VerificationError(.badSignature, "the signature does not match header and payload")
    }
  }
}

/// The three parts of a compact JWS (RFC 7515, section 7.1), as ranges of the bytes.
struct CompactJWS {
  let bytes: [UInt8]
  let header: Range<Int>
  let payload: Range<Int>
  let signature: Range<Int>

  /// Ignores surrounding white space, because a file may end with a newline.
  init(_ bytes: [UInt8]) throws(VerificationError) {
    let whole = bytes.trimmedRange
    // Searched from the end, because most of a JWS is its header. A surplus dot ends up in the header, where base64
    // decoding fails.
    guard let second = bytes.last(UInt8(ascii: "."), before: whole.upperBound, from: whole.lowerBound),
      let first = bytes.last(UInt8(ascii: "."), before: second, from: whole.lowerBound)
    else { throw VerificationError(.malformed, "not a compact JWS: it does not have three parts separated by dots") }
    self.bytes = bytes
    header = whole.lowerBound..<first
    payload = (first + 1)..<second
    signature = (second + 1)..<whole.upperBound
  }

  /// The payload, decoded but not verified.
  func decodedPayload() throws(VerificationError) -> JSONValue {
    guard let text = Base64.decode(bytes[payload]) else {
      throw VerificationError(.malformed, "the payload is not base64url")
    }
    do { return try JSONReader.read(text, duplicates: .kept) } catch {
      throw VerificationError(.malformed, "the payload is not JSON: \(error)")
    }
  }

  func decodedHeader() throws(VerificationError) -> JSONValue {
    guard let text = Base64.decode(bytes[header]) else {
      throw VerificationError(.malformed, "the header is not base64url")
    }
    do { return try JSONReader.read(text, duplicates: .kept) } catch {
      throw VerificationError(.malformed, "the header is not JSON: \(error)")
    }
  }
}

extension [UInt8] {
  fileprivate func last(_ byte: UInt8, before end: Int, from start: Int) -> Int? {
    withUnsafeBufferPointer { bytes in
      var index = end
      while index > start {
        index -= 1
        if bytes[index] == byte { return index }
      }
      return nil
    }
  }
}
