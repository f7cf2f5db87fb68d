import TileIndex

/// What was asked of other servers, by tileset.
extension Metrics {
  func upstreams(_ shelf: TileShelf, _ text: inout MetricsText) {
    let upstreams = shelf.tilesets.compactMap { tileset in tileset.knownUpstream.map { (tileset.id, $0) } }
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
