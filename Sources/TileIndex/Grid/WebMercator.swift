import LibC

/// The spherical Mercator projection of web maps (EPSG:3857, "Popular Visualisation Pseudo Mercator", EPSG method
/// 1024).
///
/// Longitudes and latitudes are WGS 84 degrees; projected coordinates are metres on a sphere of ``radius``.
public enum WebMercator {
  /// The sphere's radius in metres: the semi-major axis of WGS 84.
  public static let radius = 6_378_137.0
  /// Half the length of the equator in metres: the projected square spans from minus this to plus this.
  public static let halfWorld = Double.pi * radius
  /// The latitude in degrees of the projected square's edge, atan(sinh(pi)).
  public static let latitudeMax = 85.0511287798066

  /// The projected point in metres. Latitudes beyond ±``latitudeMax`` are clamped; longitudes are not wrapped.
  public static func project(longitude: Double, latitude: Double) -> SIMD2<Double> {
    SIMD2(x(longitude: longitude), y(latitude: latitude))
  }

  /// The point in degrees (longitude, latitude). Nothing is clamped: a y far outside tends to the pole.
  public static func unproject(_ point: SIMD2<Double>) -> SIMD2<Double> {
    SIMD2(longitude(x: point.x), latitude(y: point.y))
  }

  /// Metres east of Greenwich; exactly `halfWorld` for 180, where `longitude * pi / 180 * radius` would be off by
  /// rounding.
  public static func x(longitude: Double) -> Double { longitude / 180 * halfWorld }

  /// Metres north of the equator, at most `halfWorld` either way.
  public static func y(latitude: Double) -> Double {
    if latitude >= latitudeMax { return halfWorld }
    if latitude <= -latitudeMax { return -halfWorld }
    // asinh(tan) is precise near the equator, where log(tan(pi/4 + phi/2)) cancels.
    return asinh(tan(latitude * (.pi / 180))) * radius
  }

  /// Degrees east for metres east.
  public static func longitude(x: Double) -> Double { x / halfWorld * 180 }

  /// Degrees north for metres north.
  public static func latitude(y: Double) -> Double {
    // atan(sinh(pi)) differs from `latitudeMax` in the last digit, and the edge has one latitude here.
    if y == halfWorld { return latitudeMax }
    if y == -halfWorld { return -latitudeMax }
    return atan(sinh(y / radius)) * (180 / .pi)
  }

  /// Projected metres for one metre on the ground at a latitude: 1 at the equator.
  public static func scale(latitude: Double) -> Double {
    1 / cos(min(max(latitude, -latitudeMax), latitudeMax) * (.pi / 180))
  }
}
