import TileIndex

extension CutPlan: CustomStringConvertible {
  /// What would be cut, for people: the grid, the levels and how many tiles each may have.
  public var description: String {
    func upTo(_ tiles: Int) -> String { "up to \(tiles) \(tiles == 1 ? "tile" : "tiles")" }
    var lines = ["\(matrixSet.identifier), zoom \(zooms.lowerBound)-\(zooms.upperBound)"]
    lines += zooms.map { "  zoom \($0): \(upTo(coverages[$0]?.count ?? 0))" }
    lines.append("  in all \(upTo(tileCountMax))")
    if workingZoom > zooms.upperBound { lines.append("  drawn at zoom \(workingZoom) and reduced from there") }
    return lines.joined(separator: "\n")
  }
}
