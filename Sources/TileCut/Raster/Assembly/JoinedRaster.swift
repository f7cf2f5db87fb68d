import LibC
import RegionCatalog
import TileImage
import TileIndex

/// Rasters on one grid of pixels as one raster, so that kernels see across their seams. Later ones lie over earlier
/// ones.
final class JoinedRaster: RasterSource {
  private struct Part {
    let source: any RasterSource
    /// Where it lies in the joined raster.
    let rect: PixelRect
    /// It may have holes through which an earlier part is seen.
    let isOverlay: Bool
  }

  let path: String
  let width: Int
  let height: Int
  let alphaKind: AlphaKind
  let georeference: Georeference
  private let parts: [Part]
  /// Every pixel lies in a part.
  private let isFull: Bool
  /// The numbers of the parts in each cell of a coarse grid, ascending.
  private let cells: [[Int]]
  private let columns: Int
  private let cellWidth: Int
  private let cellHeight: Int

  var warnings: [String] { parts.flatMap(\.source.warnings) }
  /// What was joined, in drawing order.
  var members: [any RasterSource] { parts.map(\.source) }

  /// Joins the sources that share a pixel grid. A source moves down in the drawing order only past sources that it does
  /// not overlap.
  static func joining(_ sources: [any RasterSource]) -> [any RasterSource] {
    guard sources.count > 1 else { return sources }
    var groups: [SourceGroup] = []
    for source in sources {
      let group = SourceGroup(source)
      var index = groups.count - 1
      while index >= 0, !groups[index].accepts(source) {
        // Joined to an earlier group, it would no longer cover this one.
        if groups[index].mayOverlap(group) { index = -1 } else { index -= 1 }
      }
      if index >= 0 { groups[index].add(group) } else { groups.append(group) }
    }
    return groups.flatMap { group -> [any RasterSource] in
      guard group.members.count > 1 else { return group.members.map(\.source) }
      let joined = JoinedRaster(group)
      // Where an alpha band ends in nothing, its edge would become soft.
      if joined.alphaKind == .soft, !joined.isFull { return group.members.map(\.source) }
      return [joined]
    }
  }

  private convenience init(_ group: SourceGroup) {
    let members = group.members
    let left = members.map(\.rect.x).min()!
    let top = members.map(\.rect.y).min()!
    self.init(
      members.map {
        let rect = PixelRect(x: $0.rect.x - left, y: $0.rect.y - top, width: $0.rect.width, height: $0.rect.height)
        return MosaicOverviews.Part(source: $0.source, rect: rect)
      },
      width: members.map { $0.rect.x + $0.rect.width }.max()! - left,
      height: members.map { $0.rect.y + $0.rect.height }.max()! - top,
      georeference: members[0].source.georeference.part(origin: SIMD2(Double(left), Double(top))))
  }

  /// - Parameter members: in drawing order, at their places in the joined raster.
  private init(_ members: [MosaicOverviews.Part], width: Int, height: Int, georeference: Georeference) {
    path = members[0].source.path
    (self.width, self.height, self.georeference) = (width, height, georeference)
    let rects = members.map(\.rect)
    let edge = (rects.map(\.width).min()!, rects.map(\.height).min()!)
    let columns = min(max(width / max(edge.0, 1), 1), 128)
    let rows = min(max(height / max(edge.1, 1), 1), 128)
    let cellWidth = (width + columns - 1) / columns
    let cellHeight = (height + rows - 1) / rows
    (self.columns, self.cellWidth, self.cellHeight) = (columns, cellWidth, cellHeight)
    var cells = [[Int]](repeating: [], count: columns * rows)
    var parts: [Part] = []
    for (number, member) in members.enumerated() {
      let rect = rects[number]
      var isOverlay = false
      for y in rect.y / cellHeight...(rect.y + rect.height - 1) / cellHeight {
        for x in rect.x / cellWidth...(rect.x + rect.width - 1) / cellWidth {
          isOverlay =
            isOverlay || cells[y * columns + x].contains { rects[$0].intersection(rect) != nil }
          cells[y * columns + x].append(number)
        }
      }
      parts.append(
        Part(source: member.source, rect: rect, isOverlay: isOverlay && member.source.alphaKind != .opaque))
    }
    self.cells = cells
    self.parts = parts
    isFull = Self.cover(rects, width: width, height: height)
    let kinds = members.map(\.source.alphaKind)
    alphaKind = kinds.contains(.soft) ? .soft : isFull && kinds.allSatisfy { $0 == .opaque } ? .opaque : .mask
  }

  /// Whether rectangles cover a whole raster.
  private static func cover(_ rects: [PixelRect], width: Int, height: Int) -> Bool {
    let edges = Set(rects.flatMap { [$0.y, $0.y + $0.height] }).sorted()
    for y in edges.dropLast() {
      var end = 0
      for rect in rects.filter({ $0.y <= y && y < $0.y + $0.height }).sorted(by: { $0.x < $1.x }) {
        guard rect.x <= end else { return false }
        end = max(end, rect.x + rect.width)
      }
      guard end == width else { return false }
    }
    return edges.first == 0 && edges.last == height
  }

  func overview(factorMax: Double) throws -> (any RasterSource)? {
    let members = parts.map { MosaicOverviews.Part(source: $0.source, rect: $0.rect) }
    let found = try MosaicOverviews(of: members, width: width, height: height, factorMax: factorMax)
    return found.map {
      JoinedRaster($0.parts, width: $0.width, height: $0.height, georeference: georeference.coarser(by: $0.factor))
    }
  }

  private func numbers(in window: PixelRect) -> [Int] {
    let across = window.x / cellWidth...(window.x + window.width - 1) / cellWidth
    let down = window.y / cellHeight...(window.y + window.height - 1) / cellHeight
    if across.count == 1, down.count == 1 { return cells[down.lowerBound * columns + across.lowerBound] }
    return Set(down.flatMap { y in across.flatMap { cells[y * columns + $0] } }).sorted()
  }

  func read(_ window: PixelRect, into target: UnsafeMutableRawPointer, rowBytes: Int) throws -> Bool {
    if !isFull {
      for y in 0..<window.height { memset(target + y * rowBytes, 0, window.width * 4) }
    }
    var isOpaque = isFull
    for number in numbers(in: window) {
      let part = parts[number]
      guard let common = part.rect.intersection(window) else { continue }
      let inPart = PixelRect(
        x: common.x - part.rect.x, y: common.y - part.rect.y, width: common.width, height: common.height)
      let corner = target + (common.y - window.y) * rowBytes + (common.x - window.x) * 4
      if part.isOverlay {
        let layer = PixelBuffer(width: common.width, height: common.height)
        _ = try part.source.read(inPart, into: layer.bytes, rowBytes: layer.rowBytes)
        for y in 0..<common.height {
          Overlay.draw(layer.bytes + y * layer.rowBytes, over: corner + y * rowBytes, count: common.width)
        }
      } else {
        isOpaque = try part.source.read(inPart, into: corner, rowBytes: rowBytes) && isOpaque
      }
    }
    return isOpaque
  }

  func mayBeVisible(_ window: PixelRect) -> Bool {
    numbers(in: window).contains { number in
      let part = parts[number]
      guard let common = part.rect.intersection(window) else { return false }
      return part.source.mayBeVisible(
        PixelRect(
          x: common.x - part.rect.x, y: common.y - part.rect.y, width: common.width, height: common.height))
    }
  }
}

/// Sources that share a pixel grid, in drawing order.
private struct SourceGroup {
  struct Member {
    let source: any RasterSource
    /// Its place, in pixels from the corner of the group's first source.
    let rect: PixelRect
    let area: Area
  }

  /// A source's bounding box in degrees, which takes PROJ a millisecond and is seldom needed.
  final class Area {
    private let source: any RasterSource
    init(_ source: any RasterSource) { self.source = source }
    lazy var box = source.areaOfInterest
  }

  private(set) var members: [Member]

  init(_ source: any RasterSource) {
    let rect = PixelRect(x: 0, y: 0, width: source.width, height: source.height)
    members = [Member(source: source, rect: rect, area: Area(source))]
  }

  /// How far apart, in pixels, the grids of two sources may be: what the digits of world files leave.
  private static let tolerance = 0.01

  /// The source's place in the group's pixels; nil if its grid is another one.
  private func rect(_ source: any RasterSource) -> PixelRect? {
    let first = members[0].source
    // Sources with a cutline or control points are drawn each on its own; soft and binary alpha are resampled
    // differently.
    guard source.cutline == nil, first.cutline == nil,
      source.georeference.controlPoints == nil, first.georeference.controlPoints == nil,
      source.georeference.crs.definition == first.georeference.crs.definition,
      (source.alphaKind == .soft) == (first.alphaKind == .soft),
      let toFirst = first.georeference.affine.inverse
    else { return nil }
    let affine = source.georeference.affine
    let (width, height) = (Double(source.width), Double(source.height))
    let corner = toFirst(affine(.zero))
    let place = SIMD2(corner.x.rounded(), corner.y.rounded())
    for far in [SIMD2(0, 0), SIMD2(width, 0), SIMD2(0, height)] {
      let away = toFirst(affine(far)) - far - place
      guard abs(away.x) <= Self.tolerance, abs(away.y) <= Self.tolerance else { return nil }
    }
    guard abs(place.x) < 1e9, abs(place.y) < 1e9 else { return nil }
    return PixelRect(x: Int(place.x), y: Int(place.y), width: source.width, height: source.height)
  }

  /// Whether a source lies on the group's grid, and the raster joined with it is one that tools handle.
  func accepts(_ source: any RasterSource) -> Bool {
    guard let rect = rect(source) else { return false }
    let around = members.reduce(rect) { hull, member in
      let (x, y) = (min(hull.x, member.rect.x), min(hull.y, member.rect.y))
      return PixelRect(
        x: x, y: y, width: max(hull.x + hull.width, member.rect.x + member.rect.width) - x,
        height: max(hull.y + hull.height, member.rect.y + member.rect.height) - y)
    }
    return around.width <= Int(Int32.max) && around.height <= Int(Int32.max)
  }

  mutating func add(_ group: SourceGroup) {
    for member in group.members {
      members.append(Member(source: member.source, rect: rect(member.source)!, area: member.area))
    }
  }

  func mayOverlap(_ other: SourceGroup) -> Bool {
    members.contains { member in
      other.members.contains { another in
        guard let box = member.area.box, let other = another.area.box, box.west <= box.east, other.west <= other.east
        else { return true }
        return box.intersection(other) != nil
      }
    }
  }
}
