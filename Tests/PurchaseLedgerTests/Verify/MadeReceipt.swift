import Crypto
import CryptoExtras
import Foundation
import PurchaseLedger
import SwiftASN1
import X509

/// Builds PKCS#7 receipts under its own RSA certificate authority.
struct ReceiptAuthority: Sendable {
  /// Shared by all tests, because generating 2,048-bit keys is slow.
  static let shared = try! ReceiptAuthority()

  let root: [UInt8]
  private let certificates: [[UInt8]]
  private let leafNames: [UInt8]
  private let key: _RSA.Signing.PrivateKey

  private init() throws {
    let keys = try (0..<3).map { _ in try _RSA.Signing.PrivateKey(keySize: .bits2048) }
    let names = try ["Root", "Developer Relations", "Receipt Signing"].map { name in
      try DistinguishedName { CommonName(name) }
    }
    var certificates: [Certificate] = []
    for (index, marker) in [nil, [1, 2, 840, 113635, 100, 6, 2, 1], [1, 2, 840, 113635, 100, 6, 11, 1]]
      .enumerated() as EnumeratedSequence<[ASN1ObjectIdentifier?]>
    {
      var extensions = try Certificate.Extensions {
        Critical(index < 2 ? BasicConstraints.isCertificateAuthority(maxPathLength: nil) : .notCertificateAuthority)
      }
      if let marker { try extensions.append(.init(oid: marker, critical: false, value: [5, 0])) }
      certificates.append(
        try Certificate(
          version: .v3, serialNumber: .init(bytes: [UInt8(index + 1)]), publicKey: .init(keys[index].publicKey),
          notValidBefore: Date(timeIntervalSince1970: 1_400_000_000),
          notValidAfter: Date(timeIntervalSince1970: 1_900_000_000),
          issuer: names[max(0, index - 1)], subject: names[index], signatureAlgorithm: .sha256WithRSAEncryption,
          extensions: extensions, issuerPrivateKey: .init(keys[max(0, index - 1)])))
    }
    self.certificates = try certificates.reversed().map(Self.der)
    root = try Self.der(certificates[0])
    leafNames = DER(0x30, try Self.der(names[1]) + DER(0x02, Array(certificates[2].serialNumber.bytes)).bytes).bytes
    key = keys[2]
  }

  /// Signs a payload (a SET of attributes).
  func sign(_ payload: [UInt8], sha1: Bool = false) throws -> [UInt8] {
    let signature =
      sha1
      ? try key.signature(for: Insecure.SHA1.hash(data: payload), padding: .insecurePKCS1v1_5)
      : try key.signature(for: SHA256.hash(data: payload), padding: .insecurePKCS1v1_5)
    let digest = DER(
      0x30, sha1 ? [6, 5, 0x2B, 14, 3, 2, 26, 5, 0] : [6, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 1, 5, 0]
    ).bytes
    let rsa: [UInt8] = DER(0x30, [6, 9, 0x2A, 0x86, 0x48, 0x86, 0xF7, 13, 1, 1, 1, 5, 0]).bytes
    let data: [UInt8] = [6, 9, 0x2A, 0x86, 0x48, 0x86, 0xF7, 13, 1, 7, 1]
    let signer = DER(0x30, [2, 1, 1] + leafNames + digest + rsa + DER(4, Array(signature.rawRepresentation)).bytes)
      .bytes
    let signed =
      [2, 1, 1] + DER(0x31, digest).bytes + DER(0x30, data + DER(0xA0, DER(4, payload).bytes).bytes).bytes
      + DER(0xA0, certificates.flatMap { $0 }).bytes + DER(0x31, signer).bytes
    return DER(0x30, [6, 9, 0x2A, 0x86, 0x48, 0x86, 0xF7, 13, 1, 7, 2] + DER(0xA0, DER(0x30, signed).bytes).bytes).bytes
  }

  private static func der(_ value: some DERSerializable) throws -> [UInt8] {
    var serializer = SwiftASN1.DER.Serializer()
    try serializer.serialize(value)
    return serializer.serializedBytes
  }
}

/// A DER element: tag, length, value.
struct DER {
  let bytes: [UInt8]

  init(_ tag: UInt8, _ value: [UInt8]) {
    let length = value.count
    switch length {
    case ..<0x80: bytes = [tag, UInt8(length)] + value
    case ..<0x100: bytes = [tag, 0x81, UInt8(length)] + value
    case ..<0x10000: bytes = [tag, 0x82, UInt8(length >> 8), UInt8(length & 255)] + value
    default: bytes = [tag, 0x83, UInt8(length >> 16), UInt8(length >> 8 & 255), UInt8(length & 255)] + value
    }
  }

  init(integer value: Int) {
    self.init(2, [UInt8(value >> 16 & 0x7F), UInt8(value >> 8 & 255), UInt8(value & 255)].trimmed)
  }
}

extension [UInt8] {
  /// Without leading zeros, which DER forbids.
  fileprivate var trimmed: [UInt8] {
    var bytes = self
    while bytes.count > 1, bytes[0] == 0, bytes[1] < 0x80 { bytes.removeFirst() }
    return bytes
  }
}

/// The attributes of a receipt.
struct MadeReceipt {
  struct Purchase {
    var id: String
    var product = "com.example.region"
    var purchaseDate = "2023-10-24T12:01:40Z"
    /// An empty string is encoded as an empty text, nil as no attribute.
    var cancellationDate: String? = ""
    /// Integer attributes by their types.
    var numbers: [Int: Int] = [:]
  }

  var environment = "Production"
  var bundle = Evidences.bundle
  var creationDate = "2024-01-01T00:00:00Z"
  var purchases: [Purchase] = []
  /// Bytes of padding in each purchase, which stands for undocumented attributes.
  var filling = 0

  var payload: [UInt8] {
    var attributes = [Self.attribute(0, Self.utf8(environment)), Self.attribute(2, Self.utf8(bundle))]
    attributes += [
      Self.attribute(4, [1, 2, 3]), Self.attribute(5, [4, 5, 6]), Self.attribute(12, Self.ia5(creationDate)),
    ]
    attributes += purchases.map { Self.attribute(17, entry($0)) }
    return DER(0x31, attributes.flatMap { $0 }).bytes
  }

  private func entry(_ purchase: Purchase) -> [UInt8] {
    var fields = [
      Self.attribute(1701, [2, 1, 1]), Self.attribute(1702, Self.utf8(purchase.product)),
      Self.attribute(1703, Self.utf8(purchase.id)), Self.attribute(1704, Self.ia5(purchase.purchaseDate)),
      Self.attribute(1705, Self.utf8(purchase.id)), Self.attribute(1706, Self.ia5(purchase.purchaseDate)),
      Self.attribute(1708, Self.ia5("")),
    ]
    if let date = purchase.cancellationDate { fields.append(Self.attribute(1712, Self.ia5(date))) }
    for (type, number) in purchase.numbers { fields.append(Self.attribute(type, DER(integer: number).bytes)) }
    if filling > 0 { fields.append(Self.attribute(1799, [UInt8](repeating: 7, count: filling))) }
    return DER(0x31, fields.flatMap { $0 }).bytes
  }

  private static func attribute(_ type: Int, _ value: [UInt8]) -> [UInt8] {
    DER(0x30, DER(integer: type).bytes + [2, 1, 1] + DER(4, value).bytes).bytes
  }

  private static func utf8(_ text: String) -> [UInt8] { DER(0x0C, Array(text.utf8)).bytes }
  private static func ia5(_ text: String) -> [UInt8] { DER(0x16, Array(text.utf8)).bytes }
}
