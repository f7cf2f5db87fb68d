import TileImage
import TileIndex

/// What a layer gives to a tile: stored images and what is to be done with them. Gathering reads, and decodes nothing.
enum LayerPiece: Sendable {
  /// The tile itself.
  case whole(StoredImage)
  /// The part of an ancestor that covers the tile.
  case part(AncestorPart, size: ImageSize)
  /// The tiles of the next zoom, row by row from the north west; nil where there is none. Each of `size` pixels.
  case quarters([LayerPiece?], size: ImageSize)

  /// The tile itself when it is all there is.
  var whole: StoredImage? {
    if case .whole(let image) = self { image } else { nil }
  }

  /// Everything that is read.
  var images: [StoredImage] {
    switch self {
    case .whole(let image): [image]
    case .part(let part, _): [part.image]
    case .quarters(let quarters, _): quarters.flatMap { $0?.images ?? [] }
    }
  }
}

/// The part of an ancestor that covers a tile: one cell of it, cut regularly.
struct AncestorPart: Sendable {
  var image: StoredImage
  var column: Enlarge.Cell
  var row: Enlarge.Cell
}

extension Layer {
  /// A tile at the scale 1: itself, or under the policy overzoom a part of its nearest ancestor.
  func piece(_ tile: TileID) throws -> LayerPiece? {
    if let image = try image(tile) { return .whole(image) }
    return policy == .overzoom ? try enlargedPiece(tile) : nil
  }

  /// The part of the nearest ancestor that covers a tile; nil when none of those near enough is there.
  func enlargedPiece(_ tile: TileID) throws -> LayerPiece? {
    guard let part = try ancestorPart(tile) else { return nil }
    return .part(part, size: tileSize(zoom: tile.zoom))
  }

  /// The tiles of the next zoom as one piece.
  ///
  /// - Parameter enlarging: fill what is missing from ancestors even when no tile is there at all.
  /// - Returns: nil when none of the tiles is there. Otherwise, under the policy overzoom, those that are missing are parts of this tile or of an ancestor.
  /// - Precondition: the grid has a next zoom, and the step to it is 2.
  func doubledPiece(_ tile: TileID, enlarging: Bool) throws -> LayerPiece? {
    guard info.zooms.contains(tile.zoom + 1) || enlarging else { return nil }
    let children = tile.children
    var quarters: [LayerPiece?] = try children.map { child in try image(child).map { .whole($0) } }
    guard enlarging || quarters.contains(where: { $0 != nil }) else { return nil }
    if policy == .overzoom {
      for (index, child) in children.enumerated() where quarters[index] == nil {
        quarters[index] = try enlargedPiece(child)
      }
    }
    guard quarters.contains(where: { $0 != nil }) else { return nil }
    return .quarters(quarters, size: tileSize(zoom: tile.zoom + 1))
  }

  /// How many times an ancestor may be wider than the tile: at 256 pixels a tile is then 1/16 of a pixel, and long one colour.
  private static let enlargementMax = 1 << 12

  private func ancestorPart(_ tile: TileID) throws -> AncestorPart? {
    var ancestor = tile
    var column = Enlarge.Cell.whole
    var row = Enlarge.Cell.whole
    while let parent = info.matrixSet.parent(of: ancestor), parent.zoom >= info.zooms.lowerBound {
      let ratio = info.matrixSet.ratio(below: parent.zoom)
      column = Enlarge.Cell(
        index: column.index + (ancestor.column - parent.column * ratio) * column.count, count: column.count * ratio)
      row = Enlarge.Cell(
        index: row.index + (ancestor.row - parent.row * ratio) * row.count, count: row.count * ratio)
      guard column.count <= Self.enlargementMax else { return nil }
      if let image = try image(parent) { return AncestorPart(image: image, column: column, row: row) }
      ancestor = parent
    }
    return nil
  }
}
