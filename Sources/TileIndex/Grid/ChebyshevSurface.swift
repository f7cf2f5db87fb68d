import LibC

/// A smooth map from a box to three numbers, as a sum of products of Chebyshev polynomials.
struct ChebyshevSurface: Hashable, Sendable {
  /// For each power of the second coordinate the number of its coefficients.
  let counts: [Int]
  /// Those of rising powers of the first coordinate, row after row.
  let coefficients: [SIMD3<Double>]

  /// Coefficients are rounded to this: six hundredths of a millimetre on a sphere of the Earth's radius.
  private static let quantum = 1e11

  /// - Parameter rows: for each polynomial of the second coordinate the coefficients of those of the first.
  init(rows: [[SIMD3<Double>]]) {
    counts = rows.map(\.count)
    coefficients = rows.flatMap { $0 }
  }

  var rows: [[SIMD3<Double>]] {
    var start = 0
    return counts.map { count in
      defer { start += count }
      return Array(coefficients[start..<(start + count)])
    }
  }

  /// The value at a point and its derivatives; coordinates run from -1 to 1.
  func evaluated(_ u: Double, _ v: Double) -> (value: SIMD3<Double>, byU: SIMD3<Double>, byV: SIMD3<Double>) {
    var (value, byU, byV) = (SIMD3<Double>.zero, SIMD3<Double>.zero, SIMD3<Double>.zero)
    coefficients.withUnsafeBufferPointer { coefficients in
      var index = 0
      var (t, tBefore, d, dBefore) = (1.0, v, 0.0, 1.0)
      for count in counts {
        var (row, slope) = (SIMD3<Double>.zero, SIMD3<Double>.zero)
        // With T(-1) = T(1) the recurrences hold from the first polynomial on.
        var (s, sBefore, e, eBefore) = (1.0, u, 0.0, 1.0)
        for k in index..<(index + count) {
          row += coefficients[k] * s
          slope += coefficients[k] * e
          (e, eBefore) = (2 * s + 2 * u * e - eBefore, e)
          (s, sBefore) = (2 * u * s - sBefore, s)
        }
        index += count
        value += row * t
        byU += slope * t
        byV += row * d
        (d, dBefore) = (2 * t + 2 * v * d - dBefore, d)
        (t, tBefore) = (2 * v * t - tBefore, t)
      }
    }
    return (value, byU, byV)
  }

  /// The places between -1 and 1 at which a fit of so many polynomials takes its values.
  static func nodes(_ count: Int) -> [Double] {
    (0..<count).map { cos(.pi * (Double($0) + 0.5) / Double(count)) }
  }

  /// The surface through values at ``nodes(_:)``, row after row; coefficients below a threshold at the ends of rows,
  /// and such rows at the end, are left out.
  init(through values: [SIMD3<Double>], count: Int, threshold: Double) {
    // cosines[i][k] is the polynomial i at node k, with the factor of its coefficient.
    let cosines: [[Double]] = (0..<count).map { i in
      (0..<count).map { k -> Double in
        let value = cos(Double.pi * Double(i) * (Double(k) + 0.5) / Double(count))
        return value * (i == 0 ? 1.0 : 2.0) / Double(count)
      }
    }
    func transformed(_ line: (Int) -> SIMD3<Double>) -> [SIMD3<Double>] {
      cosines.map { factors in
        var sum = SIMD3<Double>.zero
        for k in 0..<count { sum += line(k) * factors[k] }
        return sum
      }
    }
    let across: [[SIMD3<Double>]] = (0..<count).map { row in transformed { values[row * count + $0] } }
    let columns: [[SIMD3<Double>]] = (0..<count).map { i in transformed { across[$0][i] } }
    var rows: [[SIMD3<Double>]] = (0..<count).map { j in
      var row: [SIMD3<Double>] = (0..<count).map { i in
        (columns[i][j] * Self.quantum).rounded(.toNearestOrEven) / Self.quantum
      }
      while let last = row.last, max(abs(last.x), abs(last.y), abs(last.z)) < threshold { row.removeLast() }
      return row
    }
    while rows.last?.isEmpty == true { rows.removeLast() }
    self.init(rows: rows)
  }
}
