import RegionCatalog
import TileImage
import TileIndex

/// Which tiles of the working zoom an area covers: those that its edge crosses, and those that lie wholly inside.
struct ClipMask: Sendable {
  let area: PixelArea
  /// All tiles that the area may cover in part.
  let tiles: CandidateTiles
  /// Those of them that it covers wholly.
  let inside: CandidateTiles

  /// - Parameter coverage: the tiles that matter.
  /// - Complexity: O(rows that each edge crosses), in time and memory.
  init(_ area: PixelArea, matrix: TileMatrix, zoom: Int, within coverage: CandidateTiles) {
    self.area = area
    let size = SIMD2(Double(matrix.tileWidth), Double(matrix.tileHeight))
    let columns = 0..<matrix.matrixWidth
    var crossed: [TileRange] = []
    for edge in area.edges {
      LineTiles.forEachRow(from: edge.top / size, to: edge.bottom / size) { row, run in
        guard coverage.rows.contains(row), run.overlaps(0...(columns.upperBound - 1)) else { return }
        let range = TileRange(zoom: zoom, columns: run.clamped(to: 0...(columns.upperBound - 1)), rows: row...row)
        if crossed.last != range { crossed.append(range) }
      }
    }
    // A tile that no edge crosses lies inside if its centre does.
    var covered: [TileRange] = []
    var scanner = Scanner(area.edges)
    for row in coverage.rows where !coverage.runs(inRow: row).isEmpty {
      for span in scanner.spans(at: (Double(row) + 0.5) * size.y) {
        let run = PixelArea.centres(PolygonSpans.Span(start: span.start / size.x, end: span.end / size.x), columns)
        guard let last = run.last else { continue }
        covered.append(TileRange(zoom: zoom, columns: run.lowerBound...last, rows: row...row))
      }
    }
    let edges = CandidateTiles(zoom: zoom, crossed)
    tiles = CandidateTiles(zoom: zoom, crossed + covered).intersection(coverage)
    inside = CandidateTiles(zoom: zoom, covered).intersection(coverage).subtracting(edges)
  }
}

/// Clips tiles to a ``ClipMask``. One per worker thread.
final class ClipShares {
  private let mask: ClipMask
  private let shares: UnsafeMutablePointer<Float>
  private let count: Int

  init(_ mask: ClipMask, matrix: TileMatrix) {
    self.mask = mask
    count = matrix.tileWidth * matrix.tileHeight
    shares = .allocate(capacity: count)
  }

  deinit { shares.deallocate() }

  /// Computes how much of a tile's pixels the area covers, for ``apply(to:)``.
  func measure(_ tile: TileID, _ rect: PixelRect) -> PixelArea.Cover {
    mask.inside.contains(tile) ? .everything : mask.area.coverage(of: rect, into: shares)
  }

  /// Multiplies the alpha of a tile's pixels by the share of them that the area covers.
  func apply(to buffer: PixelBuffer) {
    let words = buffer.bytes.assumingMemoryBound(to: UInt32.self)
    for i in 0..<count where shares[i] < 1 {
      let alpha = UInt32(Float(words[i] >> 24) * shares[i] + 0.5)
      words[i] = alpha == 0 ? 0 : words[i] & 0xff_ffff | alpha << 24
    }
  }
}
