/// A prefix code of deflate (RFC 1951, 3.2.2): the shortest for given frequencies, within a limit of bits.
struct PrefixCode {
  /// Bits of each symbol's word; 0 for a symbol that does not occur.
  private(set) var lengths: [UInt8]
  /// The words, with the first bit lowest, as deflate stores them.
  private(set) var words: [UInt16]

  /// - Parameters:
  ///   - frequencies: of at most 512 symbols, below 2^23 each. At least two should occur: the code is complete then.
  ///   - lengthMax: bits, at most 15, enough for the number of symbols.
  init(frequencies: [UInt32], lengthMax: Int) {
    lengths = [UInt8](repeating: 0, count: frequencies.count)
    words = [UInt16](repeating: 0, count: frequencies.count)
    // From the rarest to the most frequent, those with equal frequencies by number.
    let sorted = frequencies.indices.filter { frequencies[$0] > 0 }
      .map { frequencies[$0] << 9 | UInt32($0) }.sorted()
    guard sorted.count > 1 else {
      if let only = sorted.first { lengths[Int(only & 511)] = 1 }
      return
    }
    var counts = Self.lengthCounts(sorted.map { $0 >> 9 }, lengthMax: lengthMax)
    Self.shorten(&counts)
    var next = 0
    for length in (1...lengthMax).reversed() {
      for _ in 0..<counts[length] {
        lengths[Int(sorted[next] & 511)] = UInt8(length)
        next += 1
      }
    }
    assignWords(counts)
  }

  /// How many words of each length the optimal code has; longer ones count as of the limit's length. The lengths are
  /// computed in place (Moffat and Katajainen, "In-place calculation of minimum-redundancy codes", 1995).
  private static func lengthCounts(_ frequencies: [UInt32], lengthMax: Int) -> [Int] {
    var a = frequencies
    let count = a.count
    a[0] += a[1]
    var (root, leaf) = (0, 2)
    for next in 1..<max(count - 1, 1) {
      func takeLeast() -> UInt32 {
        if leaf >= count || (root < next && a[root] < a[leaf]) {
          let sum = a[root]
          a[root] = UInt32(next)
          root += 1
          return sum
        }
        leaf += 1
        return a[leaf - 1]
      }
      let first = takeLeast()
      a[next] = first
      a[next] = first + takeLeast()
    }
    // Parents become depths of inner nodes.
    a[count - 2] = 0
    for node in stride(from: count - 3, through: 0, by: -1) { a[node] = a[Int(a[node])] + 1 }
    var counts = [Int](repeating: 0, count: lengthMax + 1)
    var (available, depth, node) = (1, 0, count - 2)
    var left = count
    while available > 0, left > 0 {
      var inner = 0
      while node >= 0, Int(a[node]) == depth {
        inner += 1
        node -= 1
      }
      counts[min(depth, lengthMax)] += available - inner
      left -= available - inner
      available = 2 * inner
      depth += 1
    }
    return counts
  }

  /// Makes a code of lengths that were cut to the limit: one word of the limit's length after the other joins a shorter
  /// one, which becomes two words of a bit more.
  private static func shorten(_ counts: inout [Int]) {
    let lengthMax = counts.count - 1
    var used = (1...lengthMax).reduce(0) { $0 + counts[$1] << (lengthMax - $1) }
    while used > 1 << lengthMax {
      counts[lengthMax] -= 1
      let shorter = (1..<lengthMax).last { counts[$0] > 0 }!
      counts[shorter] -= 1
      counts[shorter + 1] += 2
      used -= 1
    }
  }

  /// Canonical words: by length, then by symbol.
  private mutating func assignWords(_ counts: [Int]) {
    var next = [UInt16](repeating: 0, count: counts.count)
    var word: UInt16 = 0
    for length in 1..<counts.count {
      word = (word + (length > 1 ? UInt16(counts[length - 1]) : 0)) << 1
      next[length] = word
    }
    for symbol in lengths.indices where lengths[symbol] > 0 {
      let length = Int(lengths[symbol])
      words[symbol] = next[length].reversedBits(length)
      next[length] &+= 1
    }
  }
}

extension UInt16 {
  /// The lowest `count` bits in reverse order.
  fileprivate func reversedBits(_ count: Int) -> UInt16 {
    var (rest, result) = (self, UInt16(0))
    for _ in 0..<count { (rest, result) = (rest >> 1, result << 1 | rest & 1) }
    return result
  }
}
