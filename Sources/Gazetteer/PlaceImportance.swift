#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// How important places are whose list does not say it.
enum PlaceImportance {
  /// What a number of inhabitants makes of a place: 0.13 for ten, 0.67 for a hundred thousand, 1 for thirty million.
  static func ofPopulation(_ population: Double) -> Double {
    guard population > 1 else { return 0 }
    return min(log10(population) / 7.5, 1)
  }
}
