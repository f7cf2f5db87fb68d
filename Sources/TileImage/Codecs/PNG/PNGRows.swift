/// A picture's rows in two states, packed and filtered, in buffers that are kept between pictures.
final class PNGRows {
  private let packed = ScratchBuffer()
  private let plain = ScratchBuffer()
  private let filtered = ScratchBuffer()
  private let filterScratch = ScratchBuffer()

  private(set) var height = 0
  /// Bytes in a row of output, the filter's number included.
  private(set) var rowBytes = 0
  var byteCount: Int { height * rowBytes }

  /// Packs palette indices into rows that are ready to be compressed: filters would make a muddle of indices.
  func packIndices(
    _ indices: UnsafePointer<UInt8>, width: Int, height: Int, bits: Int
  ) -> UnsafeRawPointer {
    self.height = height
    rowBytes = PNGForm.palette(bits: bits).rowBytes(width: width) + 1
    let rows = plain.reserve(byteCount).bindMemory(to: UInt8.self, capacity: byteCount)
    for row in 0..<height {
      rows[row * rowBytes] = 0
      PNGPacker.pack(indices + row * width, count: width, bits: bits, into: rows + row * rowBytes + 1)
    }
    return UnsafeRawPointer(rows)
  }

  /// Packs pixels into a form without palette; ``unfiltered()`` and ``filtered(pixelBytes:)`` take it from there.
  func pack(_ pixels: PixelBuffer, as form: PNGForm) {
    height = pixels.height
    rowBytes = form.rowBytes(width: pixels.width) + 1
    // One row of zeros above the first, zeros before each row, and room for the packer's surplus bytes after the last.
    let base = packed.reserve(packedStride * (height + 1) + PNGFilter.rowPadding)
    base.initializeMemory(as: UInt8.self, repeating: 0, count: packedStride)
    for row in 0..<height {
      let line = packedRow(row)
      PNGPacker.pack(pixels.bytes + row * pixels.rowBytes, count: pixels.width, as: form, into: line)
      // After the packing, whose surplus bytes of the row before fell here.
      (line - PNGFilter.rowPadding).initializeMemory(as: UInt8.self, repeating: 0, count: PNGFilter.rowPadding)
    }
  }

  /// The packed rows, each with filter 0.
  func unfiltered() -> UnsafeRawPointer {
    let rows = plain.reserve(byteCount)
    for row in 0..<height {
      let output = rows + row * rowBytes
      output.storeBytes(of: 0, as: UInt8.self)
      (output + 1).copyMemory(from: packedRow(row), byteCount: rowBytes - 1)
    }
    return UnsafeRawPointer(rows)
  }

  /// The packed rows, each with the filter that suits it.
  func filtered(pixelBytes: Int) -> UnsafeRawPointer {
    let rows = filtered.reserve(byteCount)
    let scratch = filterScratch.reserve(PNGFilter.scratchBytes(rowBytes: rowBytes - 1))
    for row in 0..<height {
      let line = packedRow(row)
      PNGFilter.apply(
        line, previous: line - packedStride, count: rowBytes - 1, pixelBytes: pixelBytes, scratch: scratch,
        into: rows + row * rowBytes)
    }
    return UnsafeRawPointer(rows)
  }

  private var packedStride: Int { rowBytes - 1 + PNGFilter.rowPadding }

  private func packedRow(_ row: Int) -> UnsafeMutableRawPointer {
    packed.bytes + (row + 1) * packedStride + PNGFilter.rowPadding
  }
}
