/// How WebP tiles are written.
public struct WebPOptions: Hashable, Sendable {
  /// True to keep every pixel as it is; false for the lossy codec, which halves the resolution of colours.
  public var lossless: Bool
  /// The lossy codec's quality, 1 to 100; without meaning for lossless tiles.
  public var quality: Int
  /// How hard libwebp tries, 0 (fastest) to 9 (smallest): the preset of the lossless codec; the lossy one knows 0 to 6.
  public var effort: Int

  public init(lossless: Bool = true, quality: Int = 85, effort: Int = 4) {
    self.lossless = lossless
    self.quality = quality
    self.effort = effort
  }
}
