/// Checks before a download whether there is room for it, and suggests what to remove if not.
struct SpaceCheck {
  let state: RegionDatabase
  let options: OfflineRegionOptions
  let folder: String

  /// - Parameters:
  ///   - wanted: the file to download.
  ///   - received: the bytes of it that are already on the disk.
  /// - Throws: ``MapStoreError`` `.noSpace` or `.overQuota` with suggestions.
  func run(_ wanted: WantedFile, received: Int) throws {
    let free = try options.freeBytes(folder)
    let needed = Self.diskBytes(wanted, received: received) + options.reserveBytes
    let promised = try promisedBytes(except: wanted.part)
    if free < needed + promised {
      let shortage = needed + promised - free
      var error = MapStoreError(
        .noSpace, wanted.part.description,
        """
        needs \(needed - options.reserveBytes) bytes more on the disk; \(free) are free, of which \
        \(promised + options.reserveBytes) are reserved
        """,
        remedy: "free \(shortage) bytes")
      error.suggestions = try suggestions(toFree: shortage, except: wanted.part.region)
      throw error
    }
    try checkQuota(wanted)
  }

  /// Whether the disk has room; ignores the quota.
  func hasRoom(_ wanted: WantedFile) throws -> Bool {
    try options.freeBytes(folder) >= Self.diskBytes(wanted, received: 0) + options.reserveBytes
      + promisedBytes(except: wanted.part)
  }

  /// The bytes that will be written: the old edition stays until the new one is complete, and a patch needs room for
  /// itself and its result.
  static func diskBytes(_ wanted: WantedFile, received: Int) -> Int {
    max(0, wanted.bytes - received) + (wanted.kind == .patch ? wanted.resultBytes : 0)
  }

  /// The bytes that other active downloads will still write.
  private func promisedBytes(except part: RegionPart) throws -> Int {
    try state.downloads().filter { $0.wanted.part != part && $0.state == .fetching }.reduce(0) { sum, download in
      let received = try state.pieces(of: download).reduce(0) { $0 + $1.range.count }
      return sum + Self.diskBytes(download.wanted, received: received)
    }
  }

  private func checkQuota(_ wanted: WantedFile) throws {
    guard let quota = options.quotaBytes else { return }
    let installed = try state.installed().filter { $0.part != wanted.part }.reduce(0) { $0 + $1.bytes }
    let coming = try state.downloads().filter { $0.wanted.part != wanted.part && $0.state == .fetching }
    let total = installed + coming.reduce(0) { $0 + $1.wanted.resultBytes } + wanted.resultBytes
    guard total > quota else { return }
    var error = MapStoreError(
      .overQuota, wanted.part.description, "would make the folder \(total) bytes large; \(quota) are allowed",
      remedy: "remove regions of \(total - quota) bytes, or allow more")
    error.suggestions = try suggestions(toFree: total - quota, except: wanted.part.region)
    throw error
  }

  /// The least recently used regions, just enough of them; none if all would not be enough.
  func suggestions(toFree bytes: Int, except region: String) throws -> [RemovalSuggestion] {
    let byRegion = Dictionary(grouping: try state.installed().filter { $0.part.region != region }, by: \.part.region)
    let candidates = byRegion.map { region, files in
      RemovalSuggestion(
        region: region, bytes: files.reduce(0) { $0 + $1.bytes }, usedAt: files.map(\.usedAt).max() ?? 0)
    }
    var chosen: [RemovalSuggestion] = []
    var freed = 0
    for candidate in candidates.sorted(by: { ($0.usedAt, $0.region) < ($1.usedAt, $1.region) }) {
      if freed >= bytes { break }
      chosen.append(candidate)
      freed += candidate.bytes
    }
    return freed >= bytes ? chosen : []
  }
}
