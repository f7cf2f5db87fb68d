extension ImageError {
  /// Refuses images of more pixels than allowed, before any memory is taken for them.
  static func check(width: Int, height: Int, pixelCountMax: Int) throws(ImageError) {
    let (count, overflow) = width.multipliedReportingOverflow(by: height)
    guard !overflow, count <= pixelCountMax else {
      throw ImageError(.tooLarge, "\(width) x \(height) pixels, more than the \(pixelCountMax) allowed here")
    }
  }
}
