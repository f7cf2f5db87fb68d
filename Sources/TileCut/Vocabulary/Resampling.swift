/// How target pixels are computed from source pixels.
public enum Resampling: String, Sendable, CaseIterable, Codable {
  /// The source pixel in which the target pixel's centre lies; overviews pick one pixel of each block.
  case nearest
  /// Triangle kernel of radius 1 source pixel, widened by the scale when shrinking.
  case bilinear
  /// Keys' cubic convolution kernel with a = -0.5, radius 2 source pixels, widened by the scale when shrinking.
  case cubic
  /// Area-weighted mean of the source pixels that the target pixel covers.
  case average
}
