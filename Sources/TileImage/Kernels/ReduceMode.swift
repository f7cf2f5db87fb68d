extension Reduce {
  /// Takes the most frequent pixel of each block of `ratio` x `ratio` child pixels: for pyramids of categories, in
  /// which no colour may appear that the source does not have.
  ///
  /// Transparent pixels count like a colour, but lose against an equally frequent one. Of equally frequent colours the
  /// one of the pixel that ``pick(_:ratio:into:x:y:phase:)`` would take wins, else the first. If the child ends inside
  /// a block, the pixels that exist count.
  ///
  /// - Precondition: the reduced child, its size divided by the ratio and rounded up, lies inside the parent.
  package static func mode(_ child: PixelBuffer, ratio: Int, into parent: PixelBuffer, x: Int, y: Int, phase: Int) {
    let target = checkedTarget(child, ratio: ratio, in: parent, x: x, y: y)
    let offset = ratio % 2 == 1 ? ratio / 2 : ratio / 2 - (phase == 0 ? 1 : 0)
    let columns = (child.width + ratio - 1) / ratio
    withUnsafeTemporaryAllocation(of: UInt32.self, capacity: ratio * ratio) { block in
      for row in 0..<(child.height + ratio - 1) / ratio {
        let rows = min(ratio, child.height - row * ratio)
        let output = target + row * parent.rowBytes
        for column in 0..<columns {
          let width = min(ratio, child.width - column * ratio)
          var count = 0
          for j in 0..<rows {
            let line = UnsafeRawPointer(child.bytes) + (row * ratio + j) * child.rowBytes + column * ratio * 4
            for i in 0..<width {
              block[count] = line.loadUnaligned(fromByteOffset: i &* 4, as: UInt32.self)
              count += 1
            }
          }
          let favourite = block[min(offset, rows - 1) * width + min(offset, width - 1)]
          let winner = mostFrequent(UnsafeBufferPointer(rebasing: block[..<count]), favourite: favourite)
          output.storeBytes(of: winner, toByteOffset: column &* 4, as: UInt32.self)
        }
      }
    }
  }

  private static func mostFrequent(_ pixels: UnsafeBufferPointer<UInt32>, favourite: UInt32) -> UInt32 {
    var winner = pixels[0]
    var most = 0
    for i in 0..<pixels.count {
      let pixel = pixels[i]
      if pixel == winner, most > 0 { continue }
      var count = 0
      for other in pixels where other == pixel { count += 1 }
      let wins = count > most || count == most && pixel != 0 && (winner == 0 || pixel == favourite)
      if wins { (winner, most) = (pixel, count) }
    }
    return winner
  }
}
