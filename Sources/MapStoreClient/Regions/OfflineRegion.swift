public import MapStoreWire

/// A region on this device: its status in the library, and its installed files.
public struct OfflineRegion: Identifiable, Hashable, Sendable, Codable {
  /// A download of the region.
  public struct OnTheWay: Hashable, Sendable, Codable {
    /// What is downloaded.
    public let part: RegionPart
    /// The edition that it leads to.
    public let edition: String
    /// Paused by the user; other downloads continue with the next
    /// ``OfflineRegionManager/sync(with:queue:onProgress:)``.
    public let isPaused: Bool
    /// Whether it is a patch of the installed edition.
    public let isPatch: Bool
    /// The recorded bytes on the disk.
    public let bytesDone: Int
    /// The size of the downloaded file.
    public let bytesTotal: Int

    /// A download, also for previews and tests; sizes in bytes.
    package init(
      part: RegionPart, edition: String, isPaused: Bool = false, isPatch: Bool = false, bytesDone: Int, bytesTotal: Int
    ) {
      (self.part, self.edition, self.isPaused, self.isPatch) = (part, edition, isPaused, isPatch)
      (self.bytesDone, self.bytesTotal) = (bytesDone, bytesTotal)
    }
  }

  /// The name of the region.
  public let id: String
  /// The title for customers; ``id`` before the server has told one.
  public let title: String
  /// The product's id in the app stores; nil before the server has told it.
  public let productId: String?
  /// The status to show; nil before the server was asked.
  public let status: LibraryStatus?
  /// Whether the store sells it now.
  public let isForSale: Bool
  /// The server's edition as of its last answer.
  public let edition: String?
  /// The size of that edition's whole bundle.
  public let bytes: Int?
  /// The size of the patch from the installed edition to that one.
  public let patchBytes: Int?
  /// The installed whole region.
  public let installed: InstalledFile?
  /// The installed tile packs.
  public let packs: [InstalledFile]
  /// What is being downloaded, or was interrupted.
  public let downloads: [OnTheWay]

  /// A region, also for previews and tests; sizes in bytes.
  ///
  /// - Parameter title: nil for the id.
  package init(
    id: String, title: String? = nil, productId: String? = nil, status: LibraryStatus? = nil, isForSale: Bool = false,
    edition: String? = nil, bytes: Int? = nil, patchBytes: Int? = nil, installed: InstalledFile? = nil,
    packs: [InstalledFile] = [], downloads: [OnTheWay] = []
  ) {
    (self.id, self.title, self.productId) = (id, title ?? id, productId)
    (self.status, self.isForSale) = (status, isForSale)
    (self.edition, self.bytes, self.patchBytes) = (edition, bytes, patchBytes)
    (self.installed, self.packs, self.downloads) = (installed, packs, downloads)
  }
}

extension OfflineRegion {
  /// Combines ownership, which the server knows, with the installed edition, which the device knows.
  static func status(_ told: LibraryRegion, installed: InstalledFile?) -> LibraryStatus {
    switch told.status {
    case .forSale, .pendingApproval, .revoked: told.status
    case .ownedInstalled, .ownedNotInstalled, .updateAvailable:
      installed.map { $0.edition == told.edition ? .ownedInstalled : .updateAvailable } ?? .ownedNotInstalled
    }
  }
}

/// All that a screen of regions shows, at one moment.
public struct OfflineRegionsState: Hashable, Sendable {
  /// What ``OfflineRegionManager/regions()`` returns.
  public var regions: [OfflineRegion] = []
  /// The installs that run, with bytes, rate and time left. ``OfflineRegion/downloads`` has what is on the disk.
  public var installs: [RegionPart: InstallProgress] = [:]

  /// Nothing: before the first look.
  public init() {}

  /// A state, for previews and tests.
  public init(regions: [OfflineRegion], installs: [RegionPart: InstallProgress] = [:]) {
    (self.regions, self.installs) = (regions, installs)
  }
}
