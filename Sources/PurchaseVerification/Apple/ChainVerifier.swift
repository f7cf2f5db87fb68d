import Crypto
import CryptoExtras
import SwiftASN1
import Synchronization
@_spi(DisableValidityCheck) import X509

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Verifies that a certificate chain leads to a pinned root and is one that signs for the App Store, not just any chain
/// under that root.
struct ChainVerifier: Sendable {
  /// Marker extension of the leaf certificates that sign for the App Store.
  private static let leafMarker: ASN1ObjectIdentifier = [1, 2, 840, 113635, 100, 6, 11, 1]
  /// Marker extension of Apple's Worldwide Developer Relations intermediates.
  private static let intermediateMarker: ASN1ObjectIdentifier = [1, 2, 840, 113635, 100, 6, 2, 1]

  private let roots: CertificateStore
  private let hasRoots: Bool

  /// - Throws: `VerificationError` that names the root certificate that cannot be read.
  init(rootCertificates: [[UInt8]]) throws(VerificationError) {
    var certificates: [Certificate] = []
    for (index, bytes) in rootCertificates.enumerated() {
      do { certificates.append(try Certificate(derEncoded: bytes)) } catch {
        throw VerificationError(
          .configuration,
          "root certificate \(index + 1) is no X.509 certificate in DER",
          remedy: "give the file as the store publishes it")
      }
    }
    roots = CertificateStore(certificates)
    hasRoots = !certificates.isEmpty
  }

  /// Verifies a chain of exactly three certificates: leaf, one of `intermediates`, a pinned root.
  ///
  /// The validity period is not checked here: the caller checks it at the signing date (`SigningChain.checkValidity`),
  /// and the X.509 library traps on extreme dates.
  ///
  /// - Parameter root: The root that the sender names, or nil for formats that need not name one.
  func verify(
    leaf: Certificate, intermediates: [Certificate], root: Certificate? = nil
  ) async throws(VerificationError) -> SigningChain {
    guard hasRoots else {
      throw VerificationError(.noRootCertificate, "no root certificate is configured", remedy: "add that of the store")
    }
    var verifier = Verifier(rootCertificates: roots) { RFC5280Policy.withValidityCheckDisabled() }
    let result = await verifier.validate(leaf: leaf, intermediates: CertificateStore(intermediates))
    guard case .validCertificate(let chain) = result else {
      throw VerificationError(.untrustedChain, "the certificates do not chain to a configured root")
    }
    guard chain.count == 3 else {
      throw VerificationError(.untrustedChain, "the chain to the root has \(chain.count) certificates, not three")
    }
    if let root, !Self.isSame(root, chain[2]) {
      throw VerificationError(.untrustedChain, "the third certificate is not the root that the other two chain to")
    }
    // The X.509 library does not check key usage.
    guard Self.maySignCertificates(chain[1]) else {
      throw VerificationError(
        .untrustedChain, "the intermediate's key may not sign certificates (keyCertSign)")
    }
    guard chain[0].extensions[oid: Self.leafMarker] != nil else {
      throw VerificationError(.missingMarker, "the leaf is not marked as one that signs for the App Store")
    }
    guard chain[1].extensions[oid: Self.intermediateMarker] != nil else {
      throw VerificationError(.missingMarker, "the intermediate is not marked as one of Apple's developer authorities")
    }
    return SigningChain(
      key: try Self.key(of: chain[0]), notBefore: chain.map { Self.milliseconds($0.notValidBefore) }.max() ?? .max,
      notAfter: chain.map { Self.milliseconds($0.notValidAfter) }.min() ?? .min)
  }

  /// Whether a certificate is the pinned one, or a reissue: same name and key, and signed by the pinned key.
  private static func isSame(_ root: Certificate, _ pinned: Certificate) -> Bool {
    root == pinned
      || (root.subject == pinned.subject && root.publicKey == pinned.publicKey
        && pinned.publicKey.isValidSignature(root.signature, for: root))
  }

  /// RFC 5280, 6.1.4 (n): if key usage is present, it must include keyCertSign.
  private static func maySignCertificates(_ authority: Certificate) -> Bool {
    do { return try authority.extensions.keyUsage?.keyCertSign ?? true } catch { return false }
  }

  private static func key(of leaf: Certificate) throws(VerificationError) -> SigningChain.Key {
    if let key = P256.Signing.PublicKey(leaf.publicKey) { return .p256(key) }
    if let key = _RSA.Signing.PublicKey(leaf.publicKey) { return .rsa(key) }
    throw VerificationError(.unsupportedAlgorithm, "the leaf's key is neither P-256 nor RSA")
  }

  /// Cannot overflow, because a certificate's dates lie in the years 0 to 9999.
  private static func milliseconds(_ date: Date) -> Int64 { Int64(date.timeIntervalSince1970) * 1000 }
}

/// A verified certificate chain, reduced to the leaf's key and the period in which all three certificates are valid.
struct SigningChain: Sendable {
  enum Key: Sendable {
    case p256(P256.Signing.PublicKey)
    case rsa(_RSA.Signing.PublicKey)
  }

  let key: Key
  /// Milliseconds since 1970, both inclusive.
  let notBefore: Int64
  let notAfter: Int64
  /// The SHA-256 state after the bytes that precede every payload signed with this chain (a JWS header and its dot).
  var hasher = SHA256()

  /// Checks that the chain was valid at the signing date. Whether it is valid now does not matter for old evidence.
  func checkValidity(at signedDate: Int64) throws(VerificationError) {
    guard notBefore <= signedDate, signedDate <= notAfter else {
      throw VerificationError(
        .certificateNotValidAtSigning,
        "the certificates are valid from \(notBefore) to \(notAfter), but it was signed at \(signedDate)")
    }
  }
}

/// Caches verified chains by the bytes that carry them: a store signs with one chain for months, and verifying a chain
/// costs twenty times a signature check.
///
/// Only verified chains are stored, so hostile evidence can at most evict others. The full bytes are compared, so keys
/// cannot collide.
final class SigningChainCache: Sendable {
  private struct Entry {
    let bytes: [UInt8]
    let chain: SigningChain
  }

  /// Only a few chains are in use at a time. More entries would slow down the search.
  private static let entriesMax = 32

  private let entries = Mutex<[Entry]>([])

  /// - Complexity: O(entries). Nearly all entries differ in length or in the first hundred bytes.
  func chain(for bytes: UnsafeBufferPointer<UInt8>) -> SigningChain? {
    entries.withLock { entries in
      for (index, entry) in entries.enumerated() where entry.bytes.count == bytes.count {
        guard entry.bytes.elementsEqualBytes(bytes) else { continue }
        // A hit moves one place forward, so frequent chains are found first.
        if index > 0 { entries.swapAt(index, index - 1) }
        return entry.chain
      }
      return nil
    }
  }

  func store(_ chain: SigningChain, for bytes: [UInt8]) {
    entries.withLock { entries in
      guard !entries.contains(where: { $0.bytes == bytes }) else { return }
      if entries.count == Self.entriesMax { entries.removeLast() }
      entries.append(Entry(bytes: bytes, chain: chain))
    }
  }
}

extension [UInt8] {
  /// Compares eight bytes at a time; `elementsEqual` compares one.
  fileprivate func elementsEqualBytes(_ other: UnsafeBufferPointer<UInt8>) -> Bool {
    withUnsafeBytes { own in
      let other = UnsafeRawBufferPointer(other)
      guard own.count == other.count else { return false }
      var index = 0
      while index + 8 <= own.count {
        guard
          own.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            == other.loadUnaligned(fromByteOffset: index, as: UInt64.self)
        else { return false }
        index += 8
      }
      while index < own.count {
        guard own[index] == other[index] else { return false }
        index += 1
      }
      return true
    }
  }
}
