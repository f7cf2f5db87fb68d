/// The conditions of a replay.
package struct ReplaySettings: Hashable, Sendable {
  /// The form in which tiles are kept in memory.
  package enum Tier: String, CaseIterable, Hashable, Sendable {
    /// 256 KiB per tile.
    case rgba
    /// One byte per pixel and a palette: 65 KiB where a tile has at most 256 colours.
    case palette

    /// The bytes of a tile of 256 pixels.
    package var tileCost: Int { self == .rgba ? 256 << 10 : 65 << 10 }
  }

  package var device = ReplayDevice.phone
  /// In bytes.
  package var budget = 64_000_000
  package var tier = Tier.rgba
  package var source = ReplaySource.local
  /// Drags have a constant velocity and take half the time; zooms happen at once and are not announced.
  package var isHarsh = false
  /// At most 1.5 times as many tiles are loaded as would be without prefetch.
  package var isMetered = false

  package init() {}
}

/// Where tiles come from.
package enum ReplaySource: String, CaseIterable, Hashable, Sendable {
  /// A bundle on the device: two loaders, 2.5 ms per virtual tile.
  case local
  /// The network: six connections, 82 ms per virtual tile.
  case network

  package var loaderCount: Int { self == .local ? 2 : 6 }
  /// Seconds per virtual tile.
  package var loadTime: Double { self == .local ? 2.5e-3 : 82e-3 }
  /// Seconds of latency per tile of a real bundle, in addition to reading and decoding.
  var requestTime: Double { self == .local ? 0 : 80e-3 }
}

/// How a replay prefetches and evicts.
package enum ReplayPolicy: String, CaseIterable, Hashable, Sendable {
  /// No prefetch; the least recently used tile is evicted.
  case lru
  /// No prefetch; distant and long unused tiles are evicted.
  case distance
  /// The reference policy, with eviction by distance.
  case zoomring
  /// This project's policy: `PrefetchPredictor` with its eviction.
  case `default`
  /// Knows the future, and prefetches and evicts accordingly.
  case oracle
  /// No prefetch; the tile that is needed last is evicted.
  case belady
}
