/// The leaf directories that were used last. A viewer asks for tiles near each other, which share a leaf.
struct LeafCache {
  private struct Item {
    let directory: PMTilesDirectory
    var lastUse: Int
  }

  // Leaves have some 4,000 entries of 24 bytes: 1.5 MB in all.
  static let leafCountMax = 16
  static let entryCountMax = 1 << 16

  private var items: [PMTilesHeader.Section: Item] = [:]
  private var uses = 0
  private var entryCount = 0

  subscript(section: PMTilesHeader.Section) -> PMTilesDirectory? {
    mutating get {
      uses += 1
      items[section]?.lastUse = uses
      return items[section]?.directory
    }
  }

  /// Keeps a directory, and drops others that were not used for longest; one that is too large is not kept.
  mutating func insert(_ directory: PMTilesDirectory, for section: PMTilesHeader.Section) {
    let count = directory.entries.count
    guard count <= Self.entryCountMax else { return }
    while items.count >= Self.leafCountMax || entryCount + count > Self.entryCountMax {
      guard let oldest = items.min(by: { $0.value.lastUse < $1.value.lastUse }) else { break }
      entryCount -= oldest.value.directory.entries.count
      items[oldest.key] = nil
    }
    uses += 1
    items[section] = Item(directory: directory, lastUse: uses)
    entryCount += count
  }
}
