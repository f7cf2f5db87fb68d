import TileImage

extension CutError {
  /// A codec's refusal of a file.
  ///
  /// - Parameter row: the row that was being decoded, if one was.
  init(_ error: ImageError, path: String, row: Int? = nil) {
    let place = row.map { "row \($0) cannot be decoded: " } ?? "cannot be decoded: "
    self.init(
      .badSource, path: path, place + error.message, remedy: "the file is damaged; copy or make it again")
  }
}
