// What an account owns: the library, and the signed grants that prove it without network.

/// `POST /v1/library`: what is installed on a device, so that the library says what to update.
///
/// A body has room for thousands of regions, the URL of the GET form for some hundred.
public struct InstalledRegions: Sendable, Hashable, Codable {
  /// One for each region that is installed whole.
  public var installed: [InstalledRegion]

  /// What a device has.
  public init(_ installed: [InstalledRegion]) { self.installed = installed }
}

/// A whole region that is installed on a device.
public struct InstalledRegion: Sendable, Hashable, Codable {
  /// The name of the region.
  public var id: String
  /// As in the catalogue: at most 100 letters, digits, dots, dashes and underscores, the first a letter or digit.
  public var edition: String

  /// A region and the edition that a device has of it.
  public init(id: String, edition: String) { (self.id, self.edition) = (id, edition) }
}

/// Answer of `POST /v1/library` and `GET /v1/library?installed=id@edition,id@edition`: the status of every region that
/// the account can see.
public struct Library: Sendable, Hashable, Codable {
  /// In the order of the catalogue; retired regions only for accounts that own them or did.
  public var regions: [LibraryRegion]

  /// Regions in the order of the catalogue.
  package init(regions: [LibraryRegion]) { self.regions = regions }
}

/// What an app shows on a region's button.
public enum LibraryStatus: String, Sendable, Hashable, Codable, CaseIterable {
  /// The only status with a "buy" button.
  case forSale
  /// The app store waits for an approval or a payment.
  case pendingApproval
  /// Bought, and not on the device that asks.
  case ownedNotInstalled
  /// Installed in the catalogue's edition.
  case ownedInstalled
  /// Installed in another edition than the catalogue's.
  case updateAvailable
  /// Refunded or revoked; can be bought again if `isForSale`.
  case revoked
}

/// A region as an account sees it.
public struct LibraryRegion: Sendable, Hashable, Codable {
  /// The name of the region.
  public var id: String
  /// The product's id in the app stores.
  public var productId: String
  /// The title for customers; nil from a server that does not tell it.
  public var title: String?
  /// What the app offers: to buy, to install, to update.
  public var status: LibraryStatus
  /// False for retired regions.
  public var isForSale: Bool
  /// The catalogue's edition.
  public var edition: String
  /// Of the whole bundle.
  public var bytes: Int
  /// Ids that the region had before: a device that has it under one of them has this region. Nil for none.
  public var formerIds: [String]?
  /// As the request states it.
  public var installedEdition: String?
  /// The size of the patch from the installed edition, if there is one.
  public var patchBytes: Int?

  /// A region with its status; sizes in bytes.
  package init(
    id: String, productId: String, title: String? = nil, status: LibraryStatus, isForSale: Bool, edition: String,
    bytes: Int, formerIds: [String]? = nil, installedEdition: String? = nil, patchBytes: Int? = nil
  ) {
    self.id = id
    self.productId = productId
    self.title = title
    self.status = status
    self.isForSale = isForSale
    self.edition = edition
    self.bytes = bytes
    self.formerIds = formerIds
    self.installedEdition = installedEdition
    self.patchBytes = patchBytes
  }
}

/// `GET /v1/grants`: what an account owns, signed, so that a device may open it for a while without network.
///
/// The signature is Ed25519 (RFC 8032) over `signedBytes(of:)`. Verify it before reading the payload.
public struct SignedGrants: Sendable, Hashable, Codable {
  /// ``GrantDocument`` as JSON, in base64url without padding.
  public var payload: String
  /// 64 bytes in base64url without padding.
  public var signature: String
  /// Which of the keys at `/v1/grants/key` signed.
  public var keyId: String

  /// A payload and its signature, both in base64url without padding.
  package init(payload: String, signature: String, keyId: String) {
    (self.payload, self.signature, self.keyId) = (payload, signature, keyId)
  }

  /// What is signed: a line that names the purpose, so that no other signature of the key can be used here, then the
  /// payload's bytes (decoded from base64url).
  package static func signedBytes(of payload: [UInt8]) -> [UInt8] { Array("map-store grants 1\n".utf8) + payload }
}

/// The payload of ``SignedGrants``.
public struct GrantDocument: Sendable, Hashable, Codable {
  /// The version of the format; `versionNow` for those that this module reads.
  public var version: Int
  /// Whose regions they are.
  public var accountId: String
  /// Milliseconds since 1970, by the server's clock. A device's clock that is earlier has been set back.
  public var issuedAt: Int64
  /// Milliseconds since 1970: until then the document is valid without asking again.
  public var expiresAt: Int64
  /// One for each region that the account owns.
  public var grants: [RegionGrant]

  /// The version that this module writes and reads.
  package static let versionNow = 1

  /// A document of `versionNow`; times in milliseconds since 1970.
  package init(accountId: String, issuedAt: Int64, expiresAt: Int64, grants: [RegionGrant]) {
    version = Self.versionNow
    (self.accountId, self.issuedAt, self.expiresAt, self.grants) = (accountId, issuedAt, expiresAt, grants)
  }
}

/// An owned region.
public struct RegionGrant: Sendable, Hashable, Codable {
  /// Absent for regions that left the catalogue: a device that has one installed knows its product.
  public var regionId: String?
  /// The product's id in the app stores.
  public var productId: String
  /// Milliseconds since 1970: the date of purchase.
  public var since: Int64
  /// Milliseconds since 1970: when it ends, as a subscription does; absent for what does not end.
  package var until: Int64?

  /// A region that is owned from a time on, and perhaps until another; in milliseconds since 1970.
  package init(regionId: String?, productId: String, since: Int64, until: Int64? = nil) {
    (self.regionId, self.productId, self.since, self.until) = (regionId, productId, since, until)
  }
}

/// `GET /v1/grants/key`: the keys that sign grants; the first signs now, the others did before.
public struct GrantKeys: Sendable, Hashable, Codable {
  /// The key that signs now first.
  public var keys: [GrantKey]

  /// The keys of a server, the one that signs now first.
  package init(keys: [GrantKey]) { self.keys = keys }
}

/// The public half of a key that signs grants.
public struct GrantKey: Sendable, Hashable, Codable {
  /// The first 16 hexadecimal digits of the key's SHA-256.
  public var keyId: String
  /// `Ed25519`.
  public var algorithm: String
  /// 32 bytes in base64url without padding.
  public var publicKey: String

  /// A key by its bytes in base64url without padding.
  package init(keyId: String, algorithm: String, publicKey: String) {
    (self.keyId, self.algorithm, self.publicKey) = (keyId, algorithm, publicKey)
  }
}
