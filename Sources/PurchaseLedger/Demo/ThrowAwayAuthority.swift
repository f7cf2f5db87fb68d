import Crypto
import Foundation
import Support
import SwiftASN1
import X509

/// A certification authority of the shape of Apple's, made up on the spot: for the demonstration, benchmarks and tests.
///
/// Root and intermediate are P-384, the leaf P-256, both marker extensions are there. Nothing it signs verifies under any other
/// root, and its keys die with the process unless ``keys`` are kept.
package struct ThrowAwayAuthority: Sendable {
  /// What a chain may deviate in, for tests of refusals.
  package struct Shape: Sendable {
    package var leafMarker = true
    package var intermediateMarker = true
    /// Whether the intermediate's key is for signing certificates.
    package var intermediateMaySign = true
    /// Validity of leaf and intermediate in milliseconds since 1970; the root's covers 2000 to 2100.
    package var leafValidity: Range<Int64> = 946_684_800_000..<4_102_444_800_000
    package var intermediateValidity: Range<Int64> = 946_684_800_000..<4_102_444_800_000

    package init() {}
  }

  /// DER of the root: what `StoreIdentity.rootCertificates` takes.
  package let rootCertificate: [UInt8]
  package let intermediateCertificate: [UInt8]
  package let leafCertificate: [UInt8]
  let leafKey: P256.Signing.PrivateKey
  /// Base64url of the JWS header with the three certificates, and the point behind it.
  let encodedHeader: [UInt8]

  package init(_ shape: Shape = Shape()) throws {
    let rootKey = P384.Signing.PrivateKey()
    let intermediateKey = P384.Signing.PrivateKey()
    leafKey = P256.Signing.PrivateKey()
    let names = try ["Root", "Intermediate", "Leaf"].map { name in
      try DistinguishedName {
        CommonName("Throw-away \(name)")
        OrganizationName("Demonstration")
      }
    }
    let always: Range<Int64> = 946_684_800_000..<4_102_444_800_000
    let root = try Self.certificate(
      .init(rootKey.publicKey), subject: names[0], issuer: names[0], signedBy: rootKey, validity: always,
      isAuthority: true,
      marker: nil)
    let intermediate = try Self.certificate(
      .init(intermediateKey.publicKey), subject: names[1], issuer: names[0], signedBy: rootKey,
      validity: shape.intermediateValidity, isAuthority: true, maySign: shape.intermediateMaySign,
      marker: shape.intermediateMarker ? [1, 2, 840, 113635, 100, 6, 2, 1] : nil)
    let leaf = try Self.certificate(
      .init(leafKey.publicKey), subject: names[2], issuer: names[1], signedBy: intermediateKey,
      validity: shape.leafValidity, isAuthority: false,
      marker: shape.leafMarker ? [1, 2, 840, 113635, 100, 6, 11, 1] : nil)
    (rootCertificate, intermediateCertificate, leafCertificate) = (root, intermediate, leaf)
    encodedHeader = Base64.encodeURL(Self.header(certificates: [leaf, intermediate, root]))
  }

  /// A compact JWS over a payload, ES256.
  /// - Complexity: one P-256 signature, about 25 microseconds.
  package func sign(_ payload: some Collection<UInt8>) throws -> [UInt8] {
    try sign(payload, encodedHeader: encodedHeader)
  }

  /// The same with another header: other certificates, another algorithm's name.
  package func sign(_ payload: some Collection<UInt8>, header: [UInt8]) throws -> [UInt8] {
    try sign(payload, encodedHeader: Base64.encodeURL(header))
  }

  /// The JSON of a JWS header.
  package static func header(certificates: [[UInt8]], algorithm: String = "ES256") -> [UInt8] {
    let list = certificates.map { "\"" + String(decoding: Base64.encode($0), as: UTF8.self) + "\"" }
    return Array("{\"alg\":\"\(algorithm)\",\"x5c\":[\(list.joined(separator: ","))]}".utf8)
  }

  private func sign(_ payload: some Collection<UInt8>, encodedHeader: [UInt8]) throws -> [UInt8] {
    var text = encodedHeader
    text.reserveCapacity(encodedHeader.count + payload.count * 4 / 3 + 96)
    text.append(UInt8(ascii: "."))
    text.append(contentsOf: Base64.encodeURL(payload))
    let signature = try leafKey.signature(for: text)
    text.append(UInt8(ascii: "."))
    text.append(contentsOf: Base64.encodeURL(signature.rawRepresentation))
    return text
  }

  private static func certificate(
    _ key: Certificate.PublicKey, subject: DistinguishedName, issuer: DistinguishedName,
    signedBy issuerKey: P384.Signing.PrivateKey, validity: Range<Int64>, isAuthority: Bool, maySign: Bool = true,
    marker: ASN1ObjectIdentifier?
  ) throws -> [UInt8] {
    var extensions = try Certificate.Extensions {
      Critical(
        isAuthority ? BasicConstraints.isCertificateAuthority(maxPathLength: nil) : .notCertificateAuthority)
      Critical(isAuthority ? KeyUsage(keyCertSign: maySign, cRLSign: true) : KeyUsage(digitalSignature: true))
    }
    // The marker's value is an ASN.1 NULL, as in Apple's certificates.
    if let marker { try extensions.append(.init(oid: marker, critical: false, value: [5, 0])) }
    let certificate = try Certificate(
      version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: key,
      notValidBefore: Date(timeIntervalSince1970: Double(validity.lowerBound / 1000)),
      notValidAfter: Date(timeIntervalSince1970: Double(validity.upperBound / 1000)), issuer: issuer, subject: subject,
      signatureAlgorithm: .ecdsaWithSHA384, extensions: extensions, issuerPrivateKey: .init(issuerKey))
    var serializer = DER.Serializer()
    try serializer.serialize(certificate)
    return serializer.serializedBytes
  }
}
