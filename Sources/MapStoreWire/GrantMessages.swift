/// `GET /v1/grants`: what an account owns, signed, so that a device without network may open it for a while.
///
/// The signature is Ed25519 (RFC 8032) over ``signedBytes(of:)``. Read the payload only after the signature was verified.
public struct SignedGrants: Sendable, Hashable, Codable {
  /// ``GrantDocument`` as JSON, in base64url without padding.
  public var payload: String
  /// 64 bytes in base64url without padding.
  public var signature: String
  /// Which of the keys at `/v1/grants/key` signed.
  public var keyId: String

  public init(payload: String, signature: String, keyId: String) {
    (self.payload, self.signature, self.keyId) = (payload, signature, keyId)
  }

  /// What is signed: a line that says what it is, so that no other signature of the key can stand for it, then the payload's bytes (decoded from base64url).
  public static func signedBytes(of payload: [UInt8]) -> [UInt8] { Array("map-store grants 1\n".utf8) + payload }
}

/// What is signed.
public struct GrantDocument: Sendable, Hashable, Codable {
  public var version: Int
  public var accountId: String
  /// Milliseconds since 1970, by the server's clock; a device whose clock is earlier has been set back.
  public var issuedAt: Int64
  /// Milliseconds since 1970: until when it counts without asking again.
  public var expiresAt: Int64
  public var grants: [RegionGrant]

  public static let versionNow = 1

  public init(accountId: String, issuedAt: Int64, expiresAt: Int64, grants: [RegionGrant]) {
    version = Self.versionNow
    (self.accountId, self.issuedAt, self.expiresAt, self.grants) = (accountId, issuedAt, expiresAt, grants)
  }
}

/// A region that is owned.
public struct RegionGrant: Sendable, Hashable, Codable {
  /// Absent for what is on the shelf no more: a device that has it installed knows its product.
  public var regionId: String?
  public var productId: String
  /// Milliseconds since 1970: when it was bought.
  public var since: Int64

  public init(regionId: String?, productId: String, since: Int64) {
    (self.regionId, self.productId, self.since) = (regionId, productId, since)
  }
}

/// `GET /v1/grants/key`: the keys of which one has signed; the first signs now, others did before.
public struct GrantKeys: Sendable, Hashable, Codable {
  public var keys: [GrantKey]

  public init(keys: [GrantKey]) { self.keys = keys }
}

public struct GrantKey: Sendable, Hashable, Codable {
  /// The first 16 hexadecimal digits of the key's SHA-256.
  public var keyId: String
  /// `Ed25519`.
  public var algorithm: String
  /// 32 bytes in base64url without padding.
  public var publicKey: String

  public init(keyId: String, algorithm: String, publicKey: String) {
    (self.keyId, self.algorithm, self.publicKey) = (keyId, algorithm, publicKey)
  }
}
