import TileIndex

extension LayerStack {
  /// What the layers give to a tile, the lowest first; empty when none gives anything. What a tile above hides without doubt is not read.
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

  /// For `@2x` the tiles of the next zoom are joined. Layers that have none there give an enlarged tile where their policy is overzoom, and nothing otherwise.
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
