import Crypto
import CryptoExtras
import Foundation
import SwiftASN1
import Synchronization
@_spi(DisableValidityCheck) import X509

/// Verifies that a chain leads to a pinned root and is one of the store's, not just any under that root.
struct ChainVerifier: Sendable {
  /// On the leaf of everything that the App Store signs.
  private static let leafMarker: ASN1ObjectIdentifier = [1, 2, 840, 113635, 100, 6, 11, 1]
  /// On Apple's Worldwide Developer Relations authorities.
  private static let intermediateMarker: ASN1ObjectIdentifier = [1, 2, 840, 113635, 100, 6, 2, 1]

  private let roots: CertificateStore
  private let hasRoots: Bool

  /// - Throws: `LedgerError` that names the root which is no certificate.
  init(rootCertificates: [[UInt8]]) throws(LedgerError) {
    var certificates: [Certificate] = []
    for (index, bytes) in rootCertificates.enumerated() {
      do { certificates.append(try Certificate(derEncoded: bytes)) } catch {
        throw LedgerError(
          .configuration, at: "root certificate \(index + 1)",
          "not an X.509 certificate in DER; give the file as the store publishes it")
      }
    }
    roots = CertificateStore(certificates)
    hasRoots = !certificates.isEmpty
  }

  /// A chain of exactly three: leaf, one of `intermediates`, a pinned root.
  ///
  /// Validity in time is left to the caller, who judges at the signing date: the X.509 library takes no hostile date.
  ///
  /// - Parameter root: The root that the sender names; nil where it may name none.
  func verify(
    leaf: Certificate, intermediates: [Certificate], root: Certificate? = nil
  ) async throws(Refusal) -> SigningChain {
    guard hasRoots else {
      throw Refusal(.untrustedChain, "no root certificate is configured; give --root-certificate")
    }
    var verifier = Verifier(rootCertificates: roots) { RFC5280Policy.withValidityCheckDisabled() }
    let result = await verifier.validate(leaf: leaf, intermediates: CertificateStore(intermediates))
    guard case .validCertificate(let chain) = result else {
      throw Refusal(.untrustedChain, "the certificates do not lead to a given root")
    }
    guard chain.count == 3 else {
      throw Refusal(.untrustedChain, "the chain to the root has \(chain.count) certificates, not three")
    }
    if let root, !Self.isSame(root, chain[2]) {
      throw Refusal(.untrustedChain, "the third certificate is not the root that the other two lead to")
    }
    // The X.509 library leaves key usage alone.
    guard Self.maySignCertificates(chain[1]) else {
      throw Refusal(.untrustedChain, "the key of the intermediate is not one that may sign certificates (keyCertSign)")
    }
    guard chain[0].extensions[oid: Self.leafMarker] != nil else {
      throw Refusal(.missingMarker, "the leaf is not marked as one that signs for the App Store")
    }
    guard chain[1].extensions[oid: Self.intermediateMarker] != nil else {
      throw Refusal(.missingMarker, "the intermediate is not marked as one of Apple's developer authorities")
    }
    return SigningChain(
      key: try Self.key(of: chain[0]), notBefore: chain.map { Self.milliseconds($0.notValidBefore) }.max() ?? .max,
      notAfter: chain.map { Self.milliseconds($0.notValidAfter) }.min() ?? .min)
  }

  /// Whether a certificate is the pinned one, or another edition of it that its key has signed: of name and key, and whole to the last byte.
  private static func isSame(_ root: Certificate, _ pinned: Certificate) -> Bool {
    root == pinned
      || (root.subject == pinned.subject && root.publicKey == pinned.publicKey
        && pinned.publicKey.isValidSignature(root.signature, for: root))
  }

  /// RFC 5280, 6.1.4 (n): where a certificate says what its key is for, that must be among it.
  private static func maySignCertificates(_ authority: Certificate) -> Bool {
    do { return try authority.extensions.keyUsage?.keyCertSign ?? true } catch { return false }
  }

  private static func key(of leaf: Certificate) throws(Refusal) -> SigningChain.Key {
    if let key = P256.Signing.PublicKey(leaf.publicKey) { return .p256(key) }
    if let key = _RSA.Signing.PublicKey(leaf.publicKey) { return .rsa(key) }
    throw Refusal(.unsupportedAlgorithm, "the leaf's key is neither P-256 nor RSA")
  }

  /// A certificate's dates lie in the years 0 to 9999, so this cannot overflow.
  private static func milliseconds(_ date: Date) -> Int64 { Int64(date.timeIntervalSince1970) * 1000 }
}

/// What is left of a verified certificate chain: the leaf's key and the time in which all three certificates are valid.
struct SigningChain: Sendable {
  enum Key: Sendable {
    case p256(P256.Signing.PublicKey)
    case rsa(_RSA.Signing.PublicKey)
  }

  let key: Key
  /// Milliseconds since 1970, both inclusive.
  let notBefore: Int64
  let notAfter: Int64
  /// SHA-256 after the bytes that stand before every payload of this chain (a JWS header and its point).
  var hasher = SHA256()

  /// Whether the chain was valid when it signed; whether it is now says nothing about old evidence.
  func checkValidity(at signedDate: Int64) throws(Refusal) {
    guard notBefore <= signedDate, signedDate <= notAfter else {
      throw Refusal(
        .certificateNotValidAtSigning,
        "the certificates are valid from \(notBefore) to \(notAfter), but it was signed at \(signedDate)")
    }
  }
}

/// The chains that verified last, by the bytes they came in: a store signs with one chain for months, and verifying one costs
/// twenty times the signature.
///
/// Only verified chains enter, so hostile evidence can at most crowd others out. Whole bytes are compared, so there is nothing to
/// collide.
final class SigningChainCache: Sendable {
  private struct Entry {
    let bytes: [UInt8]
    let chain: SigningChain
  }

  /// A handful of chains is in use at a time; more would only slow the search down.
  private static let entriesMax = 32

  private let entries = Mutex<[Entry]>([])

  /// - Complexity: O(entries), nearly all of which differ in length or in the first hundred bytes.
  func chain(for bytes: UnsafeBufferPointer<UInt8>) -> SigningChain? {
    entries.withLock { entries in
      for (index, entry) in entries.enumerated() where entry.bytes.count == bytes.count {
        guard entry.bytes.elementsEqualBytes(bytes) else { continue }
        // The most used stand in front.
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
  /// Eight bytes at a time; `elementsEqual` takes one.
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
