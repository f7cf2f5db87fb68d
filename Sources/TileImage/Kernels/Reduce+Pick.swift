extension Reduce {
  /// Takes one pixel of each block of `ratio` x `ratio` child pixels, unchanged: the reduction for nearest-neighbour pyramids, where no
  /// colour may appear that the source does not have.
  ///
  /// With an odd ratio the block's centre is taken. With an even one no pixel is in the centre, and taking the same one at every level
  /// would shift the map by half a pixel each time: `phase` 0 takes the pixel up and left of the centre and 1 the one down and right,
  /// and a caller alternates. Where the child ends inside a block, the block's last pixel there is taken.
  ///
  /// - Precondition: the reduced child, its size divided by the ratio and rounded up, lies inside the parent.
  package static func pick(
    _ child: PixelBuffer, ratio: Int, into parent: PixelBuffer, x: Int, y: Int, phase: Int
  ) {
    let target = checkedTarget(child, ratio: ratio, in: parent, x: x, y: y)
    let offset = ratio % 2 == 1 ? ratio / 2 : ratio / 2 - (phase == 0 ? 1 : 0)
    let columns = (child.width + ratio - 1) / ratio
    for row in 0..<(child.height + ratio - 1) / ratio {
      let source = UnsafeRawPointer(child.bytes) + min(row * ratio + offset, child.height - 1) * child.rowBytes
      let output = target + row * parent.rowBytes
      for column in 0..<columns {
        let place = min(column &* ratio &+ offset, child.width &- 1)
        let pixel = source.loadUnaligned(fromByteOffset: place &* 4, as: UInt32.self)
        output.storeBytes(of: pixel, toByteOffset: column &* 4, as: UInt32.self)
      }
    }
  }
}
