public import MapStoreWire

extension RegionShelf {
  /// Every region that the server told of, in its order, then what else lies here. Needs no network.
  ///
  /// - Throws: ``MapStoreError`` `.shelf`.
  public nonisolated func regions() throws -> [ShelfRegion] { try regions(told: try state.library()) }

  nonisolated func regions(told: [LibraryRegion]) throws -> [ShelfRegion] {
    let installed = Dictionary(grouping: try state.installed(), by: \.part.region)
    let downloads = Dictionary(grouping: try state.downloads(), by: \.wanted.part.region)
    let known = Set(told.map(\.id))
    let others = Set(installed.keys).union(downloads.keys).subtracting(known).sorted()
    return try (told.map { ($0.id, $0) } + others.map { ($0, nil) }).map { (id: String, told: LibraryRegion?) in
      let files = installed[id] ?? []
      let whole = files.first { $0.part.parcel == nil }
      return ShelfRegion(
        id: id, status: told.map { ShelfRegion.status($0, installed: whole) }, isForSale: told?.isForSale ?? false,
        edition: told?.edition, bytes: told?.bytes,
        patchBytes: told?.installedEdition == whole?.edition ? told?.patchBytes : nil, installed: whole,
        parcels: files.filter { $0.part.parcel != nil },
        downloads: try (downloads[id] ?? []).map { download in
          ShelfRegion.OnTheWay(
            part: download.wanted.part, edition: download.wanted.edition, isPaused: download.state == .paused,
            isPatch: download.wanted.kind == .patch,
            bytesDone: try state.pieces(of: download).reduce(0) { $0 + $1.range.count },
            bytesTotal: download.wanted.bytes)
        })
    }
  }

  /// What is installed, parcels too.
  public nonisolated func installed() throws -> [InstalledFile] { try state.installed() }

  /// The path of an installed file.
  public nonisolated func path(of part: ShelfPart) -> String { files.installed(part) }

  /// Whether a region may be opened at a time, by what the server signed last.
  ///
  /// - Parameter time: milliseconds since 1970; the device's clock unless given.
  /// - Throws: ``MapStoreError`` `.shelf`.
  public nonisolated func usability(of region: String, at time: Int64? = nil) throws -> Usability {
    try grants.usability(of: region, now: time ?? options.clock.now())
  }

  public nonisolated func isUsable(_ region: String, at time: Int64? = nil) throws -> Bool {
    try usability(of: region, at: time).isUsable
  }

  /// Notes that a region is being looked at; those that are not for the longest time are suggested for removal first.
  public nonisolated func noteUse(of region: String) throws {
    for file in try state.installed() where file.part.region == region {
      try state.noteUse(of: file.part, at: options.clock.now())
    }
  }

  /// Regions to remove so that so many bytes become free, those first that were not used for the longest time; empty when all would not be enough.
  public nonisolated func suggestions(toFree bytes: Int) throws -> [RemovalSuggestion] {
    try SpaceCheck(state: state, options: options, folder: folder).suggestions(toFree: bytes, except: "")
  }

  /// Reads an installed region and compares it with its SHA-256. One that is damaged is removed; it can be loaded again.
  ///
  /// - Returns: false when something of it was damaged.
  /// - Throws: ``MapStoreError`` `.shelf`.
  public func verify(_ region: String) async throws -> Bool {
    var isWhole = true
    for file in try state.installed() where file.part.region == region {
      let path = files.installed(file.part)
      let found = try await Blocking.run { try FileDigest.sha256(path) }
      if found == file.sha256 { continue }
      isWhole = false
      try removeFiles { $0 == file.part }
    }
    return isWhole
  }
}

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
