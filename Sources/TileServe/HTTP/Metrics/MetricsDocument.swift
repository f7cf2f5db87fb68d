import ServerSupport
import Support
import Synchronization
import TileIndex
import TilePrefetch

/// Prometheus' text format, version 0.0.4.
extension Metrics {
  func document(_ registry: TilesetRegistry, _ prefetcher: Prefetcher) -> String {
    let total = total
    let cache = cache.statistics
    var text = MetricsText()
    text.begin("tileserve_requests_total", "counter", "Requests answered.")
    for route in RouteName.allCases {
      for (column, status) in Self.statuses.enumerated() {
        let count = total.requests[route.index * Self.statuses.count + column]
        guard count > 0 else { continue }
        text.sample("tileserve_requests_total", "{route=\"\(route)\",status=\"\(status)\"}", "\(count)")
      }
    }
    text.begin(
      "tileserve_request_duration_seconds", "histogram",
      "From the end of a request to the moment its answer is written.")
    var sum = 0
    for (bound, count) in zip(Self.bounds, total.buckets) {
      sum += count
      text.sample("tileserve_request_duration_seconds_bucket", "{le=\"\(bound)\"}", "\(sum)")
    }
    sum += total.buckets[Self.bounds.count]
    text.sample("tileserve_request_duration_seconds_bucket", "{le=\"+Inf\"}", "\(sum)")
    text.sample("tileserve_request_duration_seconds_sum", "", "\(Double(total.nanoseconds) / 1e9)")
    text.sample("tileserve_request_duration_seconds_count", "", "\(sum)")
    text.single("tileserve_response_body_bytes_total", "counter", "Bytes of bodies sent.", total.bytes)
    text.single("tileserve_connections", "gauge", "Connections that are open.", total.connections)
    text.single("tileserve_connections_opened_total", "counter", "Connections accepted.", total.connectionsOpened)
    text.single(
      "tileserve_connections_dropped_total", "counter", "Connections ended because they took too long or too much.",
      total.connectionsDropped)
    text.single("tileserve_tilesets", "gauge", "Tilesets that are served.", registry.readableTilesets.count)
    text.single("tileserve_tilesets_failed", "gauge", "Bundles that cannot be served.", registry.failures.count)
    text.single(
      "tileserve_damaged_tiles_total", "counter", "Reads of tiles that were not sent, because their hash is another.",
      registry.tilesets.reduce(0) { $0 + ($1.bundle?.damagedCount ?? 0) })
    text.single("tileserve_open_bundles", "gauge", "Tilesets that have files open.", registry.openCount)
    text.single(
      "tileserve_cache_budget_bytes", "gauge", "Memory that drawn tiles may take now.", self.cache.byteCountMax)
    text.single("tileserve_cache_bytes", "gauge", "Memory that drawn tiles take.", cache.bytes)
    text.single("tileserve_cache_entries", "gauge", "Drawn tiles in memory.", cache.entries)
    text.single("tileserve_cache_hits_total", "counter", "Drawn tiles found in memory.", cache.hits)
    text.single("tileserve_cache_misses_total", "counter", "Tiles that had to be drawn.", cache.misses)
    text.single(
      "tileserve_cache_coalesced_total", "counter", "Requests that waited for a drawing under way.", cache.joined)
    text.single("tileserve_cache_evictions_total", "counter", "Drawn tiles that made room for others.", cache.evictions)
    text.single("tileserve_cache_trims_total", "counter", "Drawn tiles that went to give memory back.", cache.trims)
    text.single(
      "tileserve_cache_negative_hits_total", "counter", "Requests for tiles that were found missing not long ago.",
      cache.absentHits)
    text.single(
      "tileserve_cache_uncached_total", "counter", "Tiles drawn and handed out that found no room.", cache.uncached)
    text.single(
      "tileserve_cache_refused_total", "counter", "Tiles not drawn ahead because there was no room for them.",
      cache.refusals)
    text.single("tileserve_cache_failures_total", "counter", "Drawings that failed or were left.", cache.failures)
    text.single(
      "tileserve_cache_reserved_bytes", "gauge", "Memory set aside for drawings under way.", cache.reservedBytes)
    text.single(
      "tileserve_cache_pinned_bytes", "gauge", "Memory of drawn tiles on clients' screens.", cache.pinnedBytes)
    text.single(
      "tileserve_cache_unused_bytes", "gauge", "Memory of tiles drawn ahead and not asked for yet.", cache.unusedBytes)
    text.single(
      "tileserve_cache_peak_bytes", "gauge", "The most memory that drawn tiles and drawings under way have taken.",
      cache.bytesPeak)
    prefetch(prefetcher.statistics, &text)
    text.single(
      "tileserve_ready_bytes", "gauge", "Memory that stored tiles take, ready to be sent.", readyBytes())
    text.single(
      "tileserve_memory_pressure", "gauge", "0 enough memory, 1 a warning, 2 critical.",
      pressure.load(ordering: .relaxed))
    upstreams(registry, &text)
    if let bytes = ProcessMemory.anonymousBytes {
      text.single("process_resident_anonymous_bytes", "gauge", "RssAnon of the process.", bytes)
    }
    if let bytes = ProcessMemory.residentBytes {
      text.single("process_resident_memory_bytes", "gauge", "VmRSS of the process.", bytes)
    }
    return text.text
  }

  private func prefetch(_ statistics: Prefetcher.Statistics, _ text: inout MetricsText) {
    func counter(_ name: String, _ help: String, _ value: Int) {
      text.single("tileserve_prefetch_\(name)_total", "counter", help, value)
    }
    counter("issued", "Tiles drawn or fetched before they were asked for.", statistics.issued)
    counter("used", "Of these, tiles that were asked for later.", statistics.used)
    counter("dropped", "Tiles that were planned ahead and left when their turn came.", statistics.dropped)
    counter("bytes", "Bytes of tiles drawn or fetched ahead.", statistics.bytes)
    text.single("tileserve_prefetch_maps", "gauge", "Maps of clients that are followed.", statistics.maps)
  }
}

/// The requests to upstreams, by tileset.
extension Metrics {
  func upstreams(_ registry: TilesetRegistry, _ text: inout MetricsText) {
    let upstreams = registry.tilesets.compactMap { tileset in tileset.source.upstream.map { (tileset.id, $0) } }
    guard !upstreams.isEmpty else { return }
    func figures(_ name: String, _ kind: String, _ help: String, _ value: (Upstream) -> Int) {
      text.begin(name, kind, help)
      for (id, upstream) in upstreams {
        text.sample(name, "{tileset=\"\(MetricsText.label(id))\"}", "\(value(upstream))")
      }
    }
    let name = "tileserve_upstream_requests_total"
    text.begin(name, "counter", "Requests to other servers, by what became of them.")
    for (id, upstream) in upstreams {
      for outcome in UpstreamCounts.Outcome.allCases {
        text.sample(
          name, "{tileset=\"\(MetricsText.label(id))\",outcome=\"\(outcome.rawValue)\"}",
          "\(upstream.client.counts[outcome])")
      }
    }
    figures("tileserve_upstream_received_bytes_total", "counter", "Bytes of bodies received from other servers.") {
      $0.client.counts.bytes
    }
    figures("tileserve_upstream_away", "gauge", "1 while another server does not answer or wants to be left alone.") {
      $0.client.isAway ? 1 : 0
    }
    figures("tileserve_upstream_kept_bytes", "gauge", "Bytes of the bundles that other servers' tiles are kept in.") {
      $0.bundle.byteCount
    }
    figures("tileserve_upstream_evicted_total", "counter", "Kept tiles that made room for others.") {
      $0.bundle.evicted
    }
    figures("tileserve_upstream_unkept_total", "counter", "Tiles that could not be kept.") { $0.client.counts.unkept }
  }
}

/// The memory of this process (proc(5), `/proc/self/status`); nil on systems without it.
enum ProcessMemory {
  /// Resident anonymous memory in bytes, without files and shared pages.
  static var anonymousBytes: Int? { value("RssAnon:") }
  /// All resident memory, in bytes.
  static var residentBytes: Int? { value("VmRSS:") }

  private static func value(_ name: String) -> Int? {
    guard let text = try? FileSystem.bytes(of: "/proc/self/status", countMax: 65_536) else { return nil }
    for line in text.split(separator: UInt8(ascii: "\n")) where line.starts(with: name.utf8) {
      let number = line.filter { $0 &- UInt8(ascii: "0") < 10 }
      return Int(String(decoding: number, as: UTF8.self)).map { $0 * 1024 }
    }
    return nil
  }
}
