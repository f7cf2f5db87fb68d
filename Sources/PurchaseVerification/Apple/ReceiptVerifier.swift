import Crypto
import CryptoExtras
import SwiftASN1
import X509

/// Verifies PKCS#7 app receipts.
///
/// 1. Parse the envelope (`SignedData`) and check the range of the creation date.
/// 2. Take the chain from the cache, or verify it: signer's certificate, path to a pinned root, markers, count.
/// 3. Check that the chain was valid at the creation date.
/// 4. Check the digest and the RSA signature.
/// 5. Decode the facts (`AppReceipt`).
struct ReceiptVerifier: Sendable {
  let chains: ChainVerifier
  let cache: SigningChainCache

  func open(_ bytes: [UInt8], trusted: Bool) async throws(VerificationError) -> AppReceipt {
    let signed = try SignedData(bytes)
    let attributes = try ReceiptAttributes(signed.content)
    let creationDate = try AppReceipt.creationDate(of: attributes)
    if !trusted {
      let chain = try await chain(of: signed)
      try chain.checkValidity(at: creationDate)
      try checkSignature(of: signed, by: chain)
    }
    return try AppReceipt(attributes)
  }

  private func chain(of signed: SignedData) async throws(VerificationError) -> SigningChain {
    if let known = signed.chainBytes.withUnsafeBufferPointer({ cache.chain(for: $0) }) { return known }
    var leaf: Certificate?
    var others: [Certificate] = []
    for bytes in signed.certificates {
      guard let certificate = try? Certificate(derEncoded: Array(bytes)) else {
        throw VerificationError(.malformed, "a certificate of the receipt is not X.509")
      }
      if leaf == nil, certificate.isNamed(issuer: signed.issuer, serialNumber: signed.serialNumber) {
        leaf = certificate
      } else {
        others.append(certificate)
      }
    }
    guard let leaf else { throw VerificationError(.untrustedChain, "the signer's certificate is not in the receipt") }
    let chain = try await chains.verify(leaf: leaf, intermediates: others)
    cache.store(chain, for: signed.chainBytes)
    return chain
  }

  private func checkSignature(of signed: SignedData, by chain: SigningChain) throws(VerificationError) {
    guard case .rsa(let key) = chain.key else {
      throw VerificationError(.unsupportedAlgorithm, "the receipt's signer has no RSA key")
    }
    let signature = _RSA.Signing.RSASignature(rawRepresentation: signed.signature)
    let isValid =
      switch signed.digest {
      case .sha1:
        Self.isValid(signed, Insecure.SHA1.self) {
          key.isValidSignature(signature, for: $0, padding: .insecurePKCS1v1_5)
        }
      case .sha256:
        Self.isValid(signed, SHA256.self) { key.isValidSignature(signature, for: $0, padding: .insecurePKCS1v1_5) }
      }
    guard isValid else { throw VerificationError(.badSignature, "the signature does not match the receipt") }
  }

  /// The signature covers the content or, if there are signed attributes, those, which contain the content's digest.
  private static func isValid<Hash: HashFunction>(
    _ signed: SignedData, _ hash: Hash.Type, check: (Hash.Digest) -> Bool
  ) -> Bool {
    let content = Hash.hash(data: signed.content)
    guard let attributes = signed.signedAttributes else { return check(content) }
    guard let stated = signed.messageDigest, content.elementsEqual(stated) else { return false }
    return check(Hash.hash(data: attributes))
  }
}

extension Certificate {
  /// Whether an issuer and a serial number of PKCS#7, in DER, identify this certificate.
  func isNamed(issuer: ArraySlice<UInt8>, serialNumber: ArraySlice<UInt8>) -> Bool {
    guard let node = try? DER.parse(issuer), let name = try? DistinguishedName(derEncoded: node), name == self.issuer,
      let number = try? ArraySlice<UInt8>(derEncoded: serialNumber)
    else { return false }
    return number.elementsEqual(self.serialNumber.bytes)
  }
}
