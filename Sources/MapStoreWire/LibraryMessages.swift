/// `POST /v1/library`: what a device has, for a library that says what to update. As many as fit into a body, while the address of the GET form has room for some hundred.
public struct InstalledRegions: Sendable, Hashable, Codable {
  public var installed: [InstalledRegion]

  public init(_ installed: [InstalledRegion]) { self.installed = installed }
}

/// A whole region on a device.
public struct InstalledRegion: Sendable, Hashable, Codable {
  public var id: String
  /// As in the catalogue: at most 100 letters, digits, dots, dashes and underscores, the first a letter or digit.
  public var edition: String

  public init(id: String, edition: String) { (self.id, self.edition) = (id, edition) }
}

/// `POST /v1/library`, and `GET /v1/library?installed=id@edition,id@edition`: where an account stands with every region it can see.
public struct Library: Sendable, Hashable, Codable {
  /// In the order of the catalogue; retired regions only for those who own them, or did.
  public var regions: [LibraryRegion]

  public init(regions: [LibraryRegion]) { self.regions = regions }
}

/// What an app shows on a region's button.
public enum LibraryStatus: String, Sendable, Hashable, Codable, CaseIterable {
  /// The only status with a "buy" button.
  case forSale
  /// The store waits for somebody's approval or payment.
  case pendingApproval
  case ownedNotInstalled
  /// Installed in the edition of the shelf.
  case ownedInstalled
  /// Installed in another edition than the shelf's.
  case updateAvailable
  /// Refunded or taken back; may be bought again if `isForSale`.
  case revoked
}

public struct LibraryRegion: Sendable, Hashable, Codable {
  public var id: String
  public var productId: String
  public var status: LibraryStatus
  /// False for retired regions.
  public var isForSale: Bool
  /// The edition that the shelf has.
  public var edition: String
  /// Of the whole bundle.
  public var bytes: Int
  /// As the request named it.
  public var installedEdition: String?
  /// The size of the patch from the installed edition, where there is one.
  public var patchBytes: Int?

  public init(
    id: String, productId: String, status: LibraryStatus, isForSale: Bool, edition: String, bytes: Int,
    installedEdition: String? = nil, patchBytes: Int? = nil
  ) {
    self.id = id
    self.productId = productId
    self.status = status
    self.isForSale = isForSale
    self.edition = edition
    self.bytes = bytes
    self.installedEdition = installedEdition
    self.patchBytes = patchBytes
  }
}
