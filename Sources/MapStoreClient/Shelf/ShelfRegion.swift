public import MapStoreWire

/// Where a region stands on this device: what the server said last, and what lies here.
public struct ShelfRegion: Hashable, Sendable, Codable {
  /// A file of it that is on its way.
  public struct OnTheWay: Hashable, Sendable, Codable {
    public let part: ShelfPart
    public let edition: String
    /// Somebody paused it; else it goes on by itself at the next ``RegionShelf/sync(with:queue:onProgress:)``.
    public let isPaused: Bool
    public let isPatch: Bool
    /// On the disk, as far as is noted.
    public let bytesDone: Int
    public let bytesTotal: Int
  }

  public let id: String
  /// What to show on its button; nil when the server was not asked yet.
  public let status: LibraryStatus?
  public let isForSale: Bool
  /// The edition that the shop has, when it was last asked.
  public let edition: String?
  /// Of the whole bundle of that edition.
  public let bytes: Int?
  /// The size of the patch that leads there from what is installed.
  public let patchBytes: Int?
  /// The whole region, as it is installed.
  public let installed: InstalledFile?
  /// Parcels of it that are installed.
  public let parcels: [InstalledFile]
  public let downloads: [OnTheWay]
}

extension ShelfRegion {
  /// The server knows who owns what; what is installed is known better here.
  static func status(_ told: LibraryRegion, installed: InstalledFile?) -> LibraryStatus {
    switch told.status {
    case .forSale, .pendingApproval, .revoked: told.status
    case .ownedInstalled, .ownedNotInstalled, .updateAvailable:
      installed.map { $0.edition == told.edition ? .ownedInstalled : .updateAvailable } ?? .ownedNotInstalled
    }
  }
}
