/// The lowest and highest value in a few blocks of the first band, to suggest a scale.
struct TIFFValueRange {
  let low: String
  let high: String

  private static let blocksMax = 16

  /// - Returns: nil when nothing can be decoded or all is nodata.
  init?(_ file: TIFFFile, layout: TIFFLayout, model: TIFFColourModel) {
    guard layout.storedBlockBytes <= TIFFLayout.blockBytesMax / 16, BandRow.canScale(layout) else { return nil }
    let count = layout.columns * layout.rows
    let step = max(1, count / Self.blocksMax)
    var range: ClosedRange<Double>?
    for number in stride(from: 0, to: count, by: step) {
      let (row, column) = (number / layout.columns, number % layout.columns)
      let rows = min(layout.blockHeight, layout.height - row * layout.blockHeight)
      _ = try? file.withHandle { handle in
        let bytes = layout.storedRowBytes * layout.blockHeight
        let memory = handle.scratch(byteCount: bytes)
        guard
          handle.decode(layout.blockNumber(column: column, row: row, plane: 0), into: memory, byteCount: bytes) > 0
        else { return }
        for y in 0..<rows {
          let band = BandRow(base: memory + y * layout.storedRowBytes, stride: layout.samplesPerBlockPixel)
          let columns = min(layout.blockWidth, layout.width - column * layout.blockWidth)
          for value in band.values(count: columns, layout: layout) where value.isFinite {
            if let nodata = model.nodata, nodata[0].matches(value) { continue }
            range = min(range?.lowerBound ?? value, value)...max(range?.upperBound ?? value, value)
          }
        }
      }
    }
    guard let range, range.lowerBound < range.upperBound else { return nil }
    func text(_ value: Double) -> String {
      abs(value) < 1e15 && value == value.rounded() ? "\(Int(value))" : "\(Float(value))"
    }
    (low, high) = (text(range.lowerBound), text(range.upperBound))
  }
}
