import Crypto
import Foundation
import MapStoreWire
import TestSupport

/// Reads signed grants as a device does.
enum GrantChecks {
  static func signed(_ response: HTTPResponse) throws -> SignedGrants {
    guard response.status == 200 else { throw TestStore.Unexpected(response) }
    return try WireJSON.decode(SignedGrants.self, from: response.body)
  }

  static func document(_ response: HTTPResponse) throws -> GrantDocument {
    try WireJSON.decode(GrantDocument.self, from: bytes(try signed(response).payload))
  }

  static func isSigned(_ grants: SignedGrants, by keys: GrantKeys) throws -> Bool {
    guard let key = keys.keys.first(where: { $0.keyId == grants.keyId }) else { return false }
    let publicKey = try Curve25519.Signing.PublicKey(rawRepresentation: bytes(key.publicKey))
    return publicKey.isValidSignature(
      Data(bytes(grants.signature)), for: SignedGrants.signedBytes(of: bytes(grants.payload)))
  }

  /// Out of base64url without padding.
  static func bytes(_ text: String) -> [UInt8] {
    var text = text.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
    while text.utf8.count % 4 > 0 { text += "=" }
    return [UInt8](Data(base64Encoded: text) ?? Data())
  }
}
