import TileImage
package import TileIndex

/// The layers of a query that fit together, the lowest first.
struct LayerStack: Sendable {
  let layers: [Layer]

  /// - Throws: ``ServeError`` of code `badRequest` for layers that do not fit together; what sources throw.
  init(_ query: TileQuery) throws {
    precondition(
      !query.layers.isEmpty && query.layers.count == query.policies.count, "layers, and one policy for each")
    let isComposite = query.layers.count > 1
    layers = try zip(query.layers, query.policies).map { try Layer($0, policy: $1, isClipped: isComposite) }
    if layers.count > 1 { try Self.checkFit(layers.map(\.info)) }
  }

  /// Refuses layers with different grids, vector tiles, and flat images that do not match the others.
  ///
  /// - Throws: ``ServeError`` of code `badRequest`.
  static func checkFit(_ infos: [TilesetInfo]) throws {
    guard let first = infos.first, infos.count > 1 else { return }
    for info in infos {
      if info.format == .pbf {
        throw ServeError(
          .badRequest, "\(info.id) has vector tiles, which cannot be drawn over others: ask for it alone")
      }
      if info.matrixSet != first.matrixSet {
        throw ServeError(
          .badRequest,
          """
          \(first.id) has the grid \(first.matrixSet), \(info.id) the grid \(info.matrixSet): only layers of one grid \
          can be drawn over each other
          """
        )
      }
      if info.flatImage != first.flatImage {
        let flat = info.flatImage == nil ? first : info
        throw ServeError(
          .badRequest,
          """
          \(flat.id) is a flat image, which lies nowhere on Earth and so not below or above the other layers: ask for \
          it alone
          """
        )
      }
    }
  }

  var matrixSet: TileMatrixSet { layers[0].info.matrixSet }
  /// The names in the query, for messages.
  var id: String { layers.map(\.info.id).joined(separator: ",") }
  var isVector: Bool { layers[0].info.format == .pbf }
  var format: TileFormat { .drawn(layers.map(\.info.format)) }

  /// Refuses formats and scales that the layers do not support, and tiles outside the grid.
  func check(_ query: TileQuery) throws {
    try checkFormat(query.format)
    let tile = query.tile
    guard matrixSet.zooms.contains(tile.zoom), matrixSet.wholeRange(zoom: tile.zoom).contains(tile) else {
      throw ServeError(.badRequest, "tile \(tile) lies outside the grid \(matrixSet) of \(id)")
    }
    guard query.scale != 1 else { return }
    guard query.scale == 2 else {
      throw ServeError(.badRequest, "there is no scale @\(query.scale)x: ask for @2x, or leave it away")
    }
    if isVector {
      throw ServeError(.badRequest, "\(id) has vector tiles, which have no @2x: ask for the tile without it")
    }
    if tile.zoom < matrixSet.zooms.upperBound, matrixSet.ratio(below: tile.zoom) != 2,
      layers.contains(where: { !$0.isDouble(zoom: tile.zoom) })
    {
      throw ServeError(
        .badRequest,
        """
        the grid \(matrixSet) of \(id) steps by \(matrixSet.ratio(below: tile.zoom)) below zoom \(tile.zoom), so there \
        is no @2x: ask for the tile without it
        """
      )
    }
  }

  private func checkFormat(_ format: TileFormat?) throws {
    guard let format else { return }
    if isVector, format != .pbf {
      throw ServeError(.badRequest, "\(id) has vector tiles: ask for .pbf instead of .\(format.fileExtension)")
    }
    if !isVector, format == .pbf {
      throw ServeError(.badRequest, "\(id) has no vector tiles: ask for .\(self.format.fileExtension) instead of .pbf")
    }
  }
}

extension TileFormat {
  /// The output format for layers of these formats: theirs if all are equal, otherwise PNG, which is lossless.
  package static func drawn(_ formats: [TileFormat]) -> TileFormat {
    guard let first = formats.first else { return .png }
    return formats.allSatisfy { $0 == first } ? first : .png
  }
}

extension LayerStack {
  /// The layers' pieces of a tile, the lowest first; empty if no layer has any. Layers that are certainly hidden by an
  /// opaque tile above are not read.
  func pieces(_ tile: TileID, scale: Int) throws -> [LayerPiece] {
    scale == 1 ? try pieces(tile) : try doubledPieces(tile)
  }

  private func pieces(_ tile: TileID) throws -> [LayerPiece] {
    var pieces: [LayerPiece] = []
    for layer in layers.reversed() {
      guard let piece = try layer.piece(tile) else { continue }
      pieces.append(piece)
      if piece.whole?.isOpaqueByHeader == true { break }
    }
    return pieces.reversed()
  }

  /// For `@2x` the tiles of the next zoom are joined. Layers without tiles there contribute an enlarged tile if their
  /// policy is overzoom, otherwise nothing.
  private func doubledPieces(_ tile: TileID) throws -> [LayerPiece] {
    let hasNext = tile.zoom < matrixSet.zooms.upperBound
    var pieces: [LayerPiece?] = try layers.map { layer in
      if layer.isDouble(zoom: tile.zoom) { return try layer.piece(tile) }
      return hasNext ? try layer.doubledPiece(tile) : nil
    }
    for (index, layer) in layers.enumerated() where pieces[index] == nil && layer.policy == .overzoom {
      pieces[index] = try layer.enlargedPiece(tile, scale: 2)
    }
    return pieces.compactMap { $0 }
  }
}
