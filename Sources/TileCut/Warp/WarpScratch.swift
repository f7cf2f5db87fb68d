/// Working memory of a worker's warpers, kept between tiles: it grows to what the largest needed and stays.
package final class WarpScratch {
  let window = SourceWindow()
  private(set) var row: UnsafeMutablePointer<SIMD4<Float>> = .allocate(capacity: 1)
  private(set) var weights: UnsafeMutablePointer<Float> = .allocate(capacity: 1)
  private(set) var coordinates: UnsafeMutablePointer<Double> = .allocate(capacity: 1)
  private var capacities = (row: 1, weights: 1, coordinates: 1)

  package init() {}

  func reserve(row count: Int) {
    guard count > capacities.row else { return }
    row.deallocate()
    row = .allocate(capacity: count)
    capacities.row = count
  }

  func reserve(weights count: Int) {
    guard count > capacities.weights else { return }
    weights.deallocate()
    weights = .allocate(capacity: count)
    capacities.weights = count
  }

  func reserve(coordinates count: Int) {
    guard count > capacities.coordinates else { return }
    coordinates.deallocate()
    coordinates = .allocate(capacity: count)
    capacities.coordinates = count
  }

  deinit {
    row.deallocate()
    weights.deallocate()
    coordinates.deallocate()
  }
}
