/// A raster that can only be decoded from top to bottom.
protocol RowSource: AnyObject {
  /// The raster's file, for messages.
  var path: String { get }
  var width: Int { get }
  var height: Int { get }
  var form: PixelForm { get }

  /// Decodes the next row, `width * form.bytesPerPixel` bytes and ``PixelForm/slackBytes`` that may be overwritten.
  func readRow(into row: UnsafeMutableRawPointer) throws
}
