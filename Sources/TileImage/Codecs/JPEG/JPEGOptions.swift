/// How JPEG tiles are written.
public struct JPEGOptions: Hashable, Sendable {
  /// libjpeg's quality, 1 to 100. Above 90 colours keep their full resolution (4:4:4); up to 90 they are halved (4:2:0).
  public var quality: Int
  /// What shows where pixels are not opaque: JPEG has no transparency. Its alpha is ignored.
  public var background: RGBA

  public init(quality: Int = 85, background: RGBA = .white) {
    self.quality = quality
    self.background = background
  }
}
