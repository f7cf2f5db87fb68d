import Crypto
package import PurchaseLedger
import Support
import SwiftASN1
import X509

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// An ephemeral certificate authority with the structure of Apple's, for the demonstration, benchmarks and tests.
///
/// Root and intermediate are P-384, the leaf P-256, both with Apple's marker extensions. What it signs verifies under
/// no other root, and its keys are lost with the process unless ``keys`` are stored.
package struct EphemeralCA: Sendable {
  /// Deviations of a chain, for tests of refusals.
  package struct Shape: Sendable {
    package var leafMarker = true
    package var intermediateMarker = true
    /// Whether the intermediate's key usage allows signing certificates.
    package var intermediateMaySign = true
    /// The leaf's validity in milliseconds since 1970; the root is valid from 2000 to 2100.
    package var leafValidity: Range<Int64> = 946_684_800_000..<4_102_444_800_000
    package var intermediateValidity: Range<Int64> = 946_684_800_000..<4_102_444_800_000

    package init() {}
  }

  /// DER of the root, for `StoreIdentity.rootCertificates`.
  package let rootCertificate: [UInt8]
  package let intermediateCertificate: [UInt8]
  package let leafCertificate: [UInt8]
  let leafKey: P256.Signing.PrivateKey
  /// Base64url of the JWS header with the three certificates.
  let encodedHeader: [UInt8]

  private static let always: Range<Int64> = 946_684_800_000..<4_102_444_800_000

  package init(_ shape: Shape = Shape()) throws { self = try Self.succession([shape])[0] }

  /// Authorities under one root, each with an intermediate and a leaf of its own, as after a change of certificates.
  package static func succession(_ shapes: [Shape]) throws -> [EphemeralCA] {
    let key = P384.Signing.PrivateKey()
    let name = try name("Root")
    let root = try certificate(
      .init(key.publicKey), subject: name, issuer: name, signedBy: key, validity: always, isAuthority: true, marker: nil
    )
    return try shapes.map { try EphemeralCA($0, rootCertificate: root, rootKey: key, rootName: name) }
  }

  private init(
    _ shape: Shape, rootCertificate: [UInt8], rootKey: P384.Signing.PrivateKey, rootName: DistinguishedName
  ) throws {
    self.rootCertificate = rootCertificate
    let intermediateKey = P384.Signing.PrivateKey()
    leafKey = P256.Signing.PrivateKey()
    let intermediateName = try Self.name("Intermediate")
    intermediateCertificate = try Self.certificate(
      .init(intermediateKey.publicKey), subject: intermediateName, issuer: rootName, signedBy: rootKey,
      validity: shape.intermediateValidity, isAuthority: true, maySign: shape.intermediateMaySign,
      marker: shape.intermediateMarker ? [1, 2, 840, 113635, 100, 6, 2, 1] : nil)
    leafCertificate = try Self.certificate(
      .init(leafKey.publicKey), subject: try Self.name("Leaf"), issuer: intermediateName, signedBy: intermediateKey,
      validity: shape.leafValidity, isAuthority: false,
      marker: shape.leafMarker ? [1, 2, 840, 113635, 100, 6, 11, 1] : nil)
    encodedHeader = Base64.encodeURL(
      Self.header(certificates: [leafCertificate, intermediateCertificate, rootCertificate]))
  }

  private static func name(_ name: String) throws -> DistinguishedName {
    try DistinguishedName {
      CommonName("Throw-away \(name)")
      OrganizationName("Demonstration")
    }
  }

  /// A compact JWS over a payload, ES256.
  /// - Complexity: One P-256 signature, about 25 microseconds.
  package func sign(_ payload: some Collection<UInt8>) throws -> [UInt8] {
    try sign(payload, encodedHeader: encodedHeader)
  }

  /// A compact JWS with another header: other certificates or another algorithm's name.
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

// MARK: - Stored keys

extension EphemeralCA {
  /// The material for signing, to store a fake store's keys: base64 of the leaf's key and of the three certificates.
  package struct Keys: Sendable, Hashable, Codable {
    package var leafKey: String
    package var leaf: String
    package var intermediate: String
    package var root: String
  }

  package var keys: Keys {
    func text(_ bytes: [UInt8]) -> String { String(decoding: Base64.encode(bytes), as: UTF8.self) }
    return Keys(
      leafKey: text(Array(leafKey.rawRepresentation)), leaf: text(leafCertificate),
      intermediate: text(intermediateCertificate), root: text(rootCertificate))
  }

  /// - Throws: `LedgerError` with code `input` if a key is not base64.
  package init(_ keys: Keys) throws {
    func bytes(_ text: String) throws -> [UInt8] {
      guard let bytes = Base64.decode(Array(text.utf8)) else {
        throw LedgerError(.input, at: "the fake store's keys", "are not base64")
      }
      return bytes
    }
    leafKey = try P256.Signing.PrivateKey(rawRepresentation: try bytes(keys.leafKey))
    leafCertificate = try bytes(keys.leaf)
    intermediateCertificate = try bytes(keys.intermediate)
    rootCertificate = try bytes(keys.root)
    encodedHeader = Base64.encodeURL(
      Self.header(certificates: [leafCertificate, intermediateCertificate, rootCertificate]))
  }
}

// MARK: - Payloads

extension EphemeralCA {
  /// A signed transaction of a fact, with Apple's field names.
  ///
  /// - Parameter extra: Additional members as JSON text without braces (`"storefront":"USA"`).
  package func transaction(_ fact: StoreTransaction, bundleID: String, extra: String = "") throws -> [UInt8] {
    try sign(Self.payload(of: fact, bundleID: bundleID, extra: extra).utf8)
  }

  /// A version 2 notification, optionally with a signed transaction.
  package func notification(
    type: String, subtype: String? = nil, uuid: String, signedDate: Int64, environment: StoreEnvironment,
    bundleID: String, appAppleID: Int64? = nil, transaction: [UInt8]? = nil, renewal: [UInt8]? = nil
  ) throws -> [UInt8] {
    var data = ["\"bundleId\":\(quoted(bundleID))", "\"environment\":\(quoted(environment.rawValue))"]
    if let appAppleID { data.append("\"appAppleId\":\(appAppleID)") }
    if let transaction {
      data.append("\"signedTransactionInfo\":\(quoted(String(decoding: transaction, as: UTF8.self)))")
    }
    if let renewal { data.append("\"signedRenewalInfo\":\(quoted(String(decoding: renewal, as: UTF8.self)))") }
    var members = ["\"notificationType\":\(quoted(type))"]
    if let subtype { members.append("\"subtype\":\(quoted(subtype))") }
    members.append("\"notificationUUID\":\(quoted(uuid))")
    members.append("\"version\":\"2.0\"")
    members.append("\"signedDate\":\(signedDate)")
    members.append("\"data\":{\(data.joined(separator: ","))}")
    return try sign("{\(members.joined(separator: ","))}".utf8)
  }

  /// The JSON of a signed transaction's payload.
  package static func payload(of fact: StoreTransaction, bundleID: String, extra: String = "") -> String {
    var json = "{\"transactionId\":\(quoted(fact.transactionID))"
    json += ",\"originalTransactionId\":\(quoted(fact.originalTransactionID))"
    json += ",\"bundleId\":\(quoted(bundleID)),\"productId\":\(quoted(fact.productID ?? ""))"
    json += ",\"purchaseDate\":\(fact.purchaseDate),\"quantity\":\(fact.quantity)"
    json += ",\"type\":\(quoted(fact.productType.rawValue)),\"inAppOwnershipType\":\(quoted(fact.ownership.rawValue))"
    json += ",\"signedDate\":\(fact.signedDate),\"environment\":\(quoted(fact.environment.rawValue))"
    if !fact.reason.isEmpty { json += ",\"transactionReason\":\(quoted(fact.reason))" }
    if let date = fact.expiresDate { json += ",\"expiresDate\":\(date)" }
    if let token = fact.appAccountToken { json += ",\"appAccountToken\":\"\(token)\"" }
    if let price = fact.price { json += ",\"price\":\(price.milliunits),\"currency\":\(quoted(price.currency))" }
    if let revocation = fact.revocation {
      json += ",\"revocationDate\":\(revocation.date)"
      if let reason = revocation.reason { json += ",\"revocationReason\":\(reason)" }
      if let percentage = revocation.percentageMilli { json += ",\"revocationPercentage\":\(percentage)" }
      if let type = revocation.type { json += ",\"revocationType\":\(quoted(type))" }
    }
    return json + (extra.isEmpty ? "" : ",\(extra)") + "}"
  }
}

private func quoted(_ text: String) -> String { text.quotedAsJSON }
