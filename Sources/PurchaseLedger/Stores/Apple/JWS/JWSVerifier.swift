import Crypto
import Support
import SwiftASN1
import X509

/// Opens Apple's signed JSON: ES256 over a chain of exactly three certificates.
///
/// 1. Split, decode the payload, clamp its signing date: no date reaches certificate code that would harm it.
/// 2. Take the header's chain from the cache, or verify it: algorithm, count, path to a pinned root, markers.
/// 3. Judge the chain's validity at the signing date.
/// 4. Check the signature, going on from the header's hash.
struct JWSVerifier: Sendable {
  /// What verified.
  struct Opened: Sendable {
    let payload: JSONValue
    let signedDate: Int64
    /// What a store would not sign, and a reader could take for two things.
    let inconsistency: Refusal?
  }

  let chains: ChainVerifier
  let cache: SigningChainCache

  /// - Parameter trusted: The very bytes were accepted before: they are decoded only.
  /// - Complexity: with a known header one ES256 check, without it three signatures more.
  func open(_ bytes: [UInt8], trusted: Bool) async throws(Refusal) -> Opened {
    let jws = try CompactJWS(bytes)
    let payload = try jws.decodedPayload()
    guard payload.members != nil else { throw Refusal(.malformed, "the payload is not a JSON object") }
    guard let date = payload["signedDate"] else {
      // The header's faults tell more than a date that is missing.
      _ = try await chain(of: jws)
      throw Refusal(.incomplete, "the payload has no signedDate")
    }
    guard let milliseconds = date.integer else {
      throw Refusal(.dateOutOfRange, "signedDate is no date in milliseconds")
    }
    let signedDate = try FieldRules.signingDate(milliseconds, "signedDate")
    if !trusted {
      let chain = try await chain(of: jws)
      try chain.checkValidity(at: signedDate)
      try checkSignature(of: jws, by: chain)
    }
    return Opened(payload: payload, signedDate: signedDate, inconsistency: payload.repetition)
  }

  private func chain(of jws: CompactJWS) async throws(Refusal) -> SigningChain {
    if let known = jws.bytes.withUnsafeBufferPointer({ cache.chain(for: .init(rebasing: $0[jws.header])) }) {
      return known
    }
    let certificates = try certificates(in: try jws.decodedHeader())
    // The third is the root as the sender has it; ours is pinned, and the two have to be one.
    var chain = try await chains.verify(
      leaf: certificates[0], intermediates: [certificates[1]], root: certificates[2])
    let header = Array(jws.bytes[jws.header])
    chain.hasher.update(data: header)
    chain.hasher.update(data: [UInt8(ascii: ".")])
    cache.store(chain, for: header)
    return chain
  }

  private func certificates(in header: JSONValue) throws(Refusal) -> [Certificate] {
    if let repetition = header.repetition { throw Refusal(.malformed, "the header: \(repetition.reason)") }
    guard header["alg"]?.string == "ES256" else {
      throw Refusal(.unsupportedAlgorithm, "signed with \(header["alg"]?.string ?? "no algorithm"), not ES256")
    }
    guard header["crit"] == nil else {
      throw Refusal(.unsupportedAlgorithm, "the header demands extensions that are not known here")
    }
    let texts = header["x5c"]?.array ?? []
    guard texts.count == 3 else {
      throw Refusal(.certificateCount, "the header has \(texts.count) certificates, not three")
    }
    var certificates: [Certificate] = []
    for (index, text) in texts.enumerated() {
      guard let der = text.string.flatMap({ Base64.decode($0.utf8) }),
        let certificate = try? Certificate(derEncoded: der)
      else { throw Refusal(.malformed, "certificate \(index + 1) of the header is not X.509") }
      certificates.append(certificate)
    }
    return certificates
  }

  private func checkSignature(of jws: CompactJWS, by chain: SigningChain) throws(Refusal) {
    guard case .p256(let key) = chain.key else {
      throw Refusal(.unsupportedAlgorithm, "the leaf's key is not P-256, which ES256 needs")
    }
    guard let raw = Base64.decode(jws.bytes[jws.signature]),
      let signature = try? P256.Signing.ECDSASignature(rawRepresentation: raw)
    else { throw Refusal(.badSignature, "the signature is not 64 bytes in base64url") }
    var hasher = chain.hasher
    jws.bytes.withUnsafeBytes { hasher.update(bufferPointer: .init(rebasing: $0[jws.payload])) }
    guard key.isValidSignature(signature, for: hasher.finalize()) else {
      throw Refusal(.badSignature, "the signature does not fit header and payload")
    }
  }
}
