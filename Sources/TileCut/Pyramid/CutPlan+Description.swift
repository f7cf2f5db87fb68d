import TileIndex

extension CutPlan: CustomStringConvertible {
  /// What would be cut, for people: the grid, the levels and how many tiles each may have.
  public var description: String {
    var lines = ["\(matrixSet.identifier), zoom \(zooms.lowerBound)-\(zooms.upperBound)"]
    lines += zooms.map { "  zoom \($0): up to \(coverages[$0]?.count ?? 0) tiles" }
    lines.append("  in all up to \(tileCountMax) tiles")
    if workingZoom > zooms.upperBound { lines.append("  drawn at zoom \(workingZoom) and reduced from there") }
    return lines.joined(separator: "\n")
  }
}
