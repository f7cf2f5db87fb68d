import SwiftASN1

/// The parts of a PKCS#7 SignedData (RFC 2315, section 9; RFC 5652, section 5) that verifying a receipt needs.
///
/// Parsed as BER without a CMS library: stores leave sets unsorted, and Xcode uses indefinite lengths and split octet
/// strings, which swift-certificates' CMS rejects.
struct SignedData {
  enum Digest { case sha1, sha256 }

  /// The signed content: the receipt's attributes.
  let content: ArraySlice<UInt8>
  let certificates: [ArraySlice<UInt8>]
  /// The encoded certificates and the encoded name of the signer, which together identify the chain in the cache.
  let chainBytes: [UInt8]
  /// Issuer and serial number of the signer's certificate, encoded.
  let issuer: ArraySlice<UInt8>
  let serialNumber: ArraySlice<UInt8>
  let digest: Digest
  /// The signed attributes in the form that is hashed, a SET. Nil if the content itself is signed.
  let signedAttributes: [UInt8]?
  let messageDigest: ArraySlice<UInt8>?
  let signature: ArraySlice<UInt8>

  private static let signedDataType: ASN1ObjectIdentifier = [1, 2, 840, 113549, 1, 7, 2]
  private static let messageDigestType: ASN1ObjectIdentifier = [1, 2, 840, 113549, 1, 9, 4]
  private static let sha1: ASN1ObjectIdentifier = [1, 3, 14, 3, 2, 26]
  private static let sha256: ASN1ObjectIdentifier = [2, 16, 840, 1, 101, 3, 4, 2, 1]

  /// A receipt has three certificates; a few more are tolerated.
  private static let certificatesMax = 8

  init(_ bytes: [UInt8]) throws(VerificationError) {
    do { try self.init(parsing: BER.parse(bytes)) } catch let refusal as VerificationError { throw refusal } catch {
      throw VerificationError(.malformed, "not a PKCS#7 receipt: its ASN.1 is broken")
    }
  }

  private init(parsing root: ASN1Node) throws {
    let outer = try root.fields(.sequence, atLeast: 2)
    guard try ASN1ObjectIdentifier(berEncoded: outer[0]) == Self.signedDataType else {
      throw VerificationError(.malformed, "PKCS#7, but not signed data")
    }
    let signed = try outer[1].fields(.context(0), atLeast: 1)[0].fields(.sequence, atLeast: 4)
    let encapsulated = try signed[2].fields(.sequence, atLeast: 2)
    content = try ASN1OctetString(berEncoded: encapsulated[1].fields(.context(0), atLeast: 1)[0]).bytes
    guard let list = signed.first(where: { $0.identifier == .context(0) }), let infos = signed.last else {
      throw VerificationError(.certificateCount, "the receipt holds no certificates")
    }
    certificates = try list.fields(.context(0), atLeast: 0).map(\.encodedBytes)
    guard (1...Self.certificatesMax).contains(certificates.count) else {
      throw VerificationError(.certificateCount, "the receipt holds \(certificates.count) certificates")
    }
    let signers = try infos.fields(.set, atLeast: 1)
    guard signers.count == 1 else {
      throw VerificationError(.malformed, "the receipt has \(signers.count) signers, not one")
    }

    var signer = try signers[0].fields(.sequence, atLeast: 5)[1...]
    let name = signer.removeFirst()
    let names = try name.fields(.sequence, atLeast: 2)
    (issuer, serialNumber) = (names[0].encodedBytes, names[1].encodedBytes)
    chainBytes = Array(list.encodedBytes) + Array(name.encodedBytes)
    digest = try Self.digest(signer.removeFirst())
    if let attributes = signer.first, attributes.identifier == .context(0) {
      signer.removeFirst()
      messageDigest = try Self.messageDigest(in: attributes)
      // Hashed as a SET (RFC 5652, section 5.4). DER requires a definite length here, so replacing the tag suffices.
      signedAttributes = [0x31] + attributes.encodedBytes.dropFirst()
    } else {
      (messageDigest, signedAttributes) = (nil, nil)
    }
    guard signer.count >= 2 else { throw VerificationError(.malformed, "the receipt's signature is missing") }
    signature = try ASN1OctetString(berEncoded: signer[signer.startIndex + 1]).bytes
  }

  private static func digest(_ algorithm: ASN1Node) throws -> Digest {
    switch try ASN1ObjectIdentifier(berEncoded: algorithm.fields(.sequence, atLeast: 1)[0]) {
    case sha1: return .sha1
    case sha256: return .sha256
    case let other:
      throw VerificationError(.unsupportedAlgorithm, "the receipt is hashed with \(other), not SHA-1 or SHA-256")
    }
  }

  private static func messageDigest(in attributes: ASN1Node) throws -> ArraySlice<UInt8> {
    for attribute in try attributes.fields(.context(0), atLeast: 1) {
      let pair = try attribute.fields(.sequence, atLeast: 2)
      guard try ASN1ObjectIdentifier(berEncoded: pair[0]) == messageDigestType else { continue }
      return try ASN1OctetString(berEncoded: pair[1].fields(.set, atLeast: 1)[0]).bytes
    }
    throw VerificationError(.malformed, "the signed attributes of the receipt hold no digest")
  }
}

extension ASN1Identifier {
  static func context(_ number: UInt) -> Self { Self(tagWithNumber: number, tagClass: .contextSpecific) }
}

extension ASN1Node {
  /// The children of a constructed node, which must have the given tag.
  func fields(_ identifier: ASN1Identifier, atLeast count: Int) throws -> [ASN1Node] {
    guard self.identifier == identifier, case .constructed(let nodes) = content else {
      throw VerificationError(.malformed, "not a receipt: a value of ASN.1 is not \(identifier)")
    }
    let fields = Array(nodes)
    guard fields.count >= count else { throw VerificationError(.malformed, "a field of the receipt is missing") }
    return fields
  }
}
