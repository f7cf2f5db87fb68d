/// The scanlines of an image in two states, packed and filtered, in buffers that are reused.
final class PNGScanlines {
  private let packed = ScratchBuffer()
  private let plain = ScratchBuffer()
  private let filtered = ScratchBuffer()
  private let filterScratch = ScratchBuffer()
  private let pairs = BytePairs()

  private(set) var height = 0
  /// Bytes per output row, including the filter's number.
  private(set) var rowBytes = 0
  var byteCount: Int { height * rowBytes }

  /// Packs palette indices into rows that are ready for compression. Filters do not help: indices are no magnitudes.
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

  /// Packs pixels into a form without palette, for ``unfiltered()`` and ``filtered(pixelBytes:)``.
  func pack(_ pixels: PixelBuffer, as form: PNGForm) {
    height = pixels.height
    rowBytes = form.rowBytes(width: pixels.width) + 1
    // One row of zeros above the first, zeros before each row, and room for the packer's surplus bytes after the last
    // row.
    let base = packed.reserve(packedStride * (height + 1) + PNGFilter.rowPadding)
    base.initializeMemory(as: UInt8.self, repeating: 0, count: packedStride)
    for row in 0..<height {
      let line = packedRow(row)
      PNGPacker.pack(pixels.bytes + row * pixels.rowBytes, count: pixels.width, as: form, into: line)
      // Must follow the packing of the previous row, whose surplus bytes fall here.
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

  /// The packed rows, each with the filter whose result costs least.
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

  /// ``filtered(pixelBytes:)``, in which bands of rows that repeat themselves more as differences from the row above
  /// become those differences: images that were enlarged, such as maps in degrees warped to Mercator.
  func filteredInBands(pixelBytes: Int) -> UnsafeRawPointer {
    let rows = UnsafeMutableRawPointer(mutating: filtered(pixelBytes: pixelBytes))
    let count = rowBytes - 1
    let trial = filterScratch.bytes
    for first in stride(from: 0, to: height, by: Self.bandRows) {
      let band = first..<min(first + Self.bandRows, height)
      var more = 0
      // Two rows speak for a band.
      for row in [band.lowerBound + Self.bandRows / 4, band.lowerBound + 3 * Self.bandRows / 4] where row < height {
        let line = packedRow(row)
        PNGFilter.applyUp(line, previous: line - packedStride, count: count, into: trial)
        more += Int(pairs.count(trial + 1, byteCount: count))
        more -= Int(pairs.count(rows + row * rowBytes + 1, byteCount: count))
      }
      guard more < 0 else { continue }
      for row in band {
        let line = packedRow(row)
        PNGFilter.applyUp(line, previous: line - packedStride, count: count, into: rows + row * rowBytes)
      }
    }
    return UnsafeRawPointer(rows)
  }

  private static let bandRows = 16

  /// Up to four bands of rows, each in the middle of its part of the image: a sample of all rows.
  ///
  /// - Parameters:
  ///   - data: `height` rows of `rowBytes` bytes.
  ///   - bandRows: 1 to `height`.
  static func bands(
    of data: UnsafeRawPointer, height: Int, rowBytes: Int, bandRows: Int
  ) -> [UnsafeRawBufferPointer] {
    let count = min(4, height / bandRows)
    return (0..<count).map { band in
      let first = (2 * band + 1) * height / (2 * count) - bandRows / 2
      let start = min(max(first, 0), height - bandRows)
      return UnsafeRawBufferPointer(start: data + start * rowBytes, count: bandRows * rowBytes)
    }
  }

  /// The packed rows, each with the filter whose result has the fewest distinct pairs of bytes.
  func filteredByPairs(pixelBytes: Int) -> UnsafeRawPointer {
    let rows = filtered.reserve(byteCount)
    let scratch = filterScratch.reserve(PNGFilter.scratchBytes(rowBytes: rowBytes - 1))
    for row in 0..<height {
      let line = packedRow(row)
      PNGFilter.apply(
        line, previous: line - packedStride, count: rowBytes - 1, pixelBytes: pixelBytes, scratch: scratch,
        pairs: pairs, into: rows + row * rowBytes)
    }
    return UnsafeRawPointer(rows)
  }

  private var packedStride: Int { rowBytes - 1 + PNGFilter.rowPadding }

  private func packedRow(_ row: Int) -> UnsafeMutableRawPointer {
    packed.bytes + (row + 1) * packedStride + PNGFilter.rowPadding
  }
}

/// Converts pixels to the samples of a form.
enum PNGPacker {
  /// Packs RGBA8 pixels into grey, grey and alpha, RGB or RGBA samples.
  ///
  /// - Parameter output: as many bytes as the form needs, and 4 more: each pixel is stored as a word whose surplus
  ///   bytes are overwritten by the next.
  static func pack(_ pixels: UnsafeRawPointer, count: Int, as form: PNGForm, into output: UnsafeMutableRawPointer) {
    switch form {
    case .grey:
      for i in 0..<count {
        let value = pixels.load(fromByteOffset: i &* 4, as: UInt8.self)
        output.storeBytes(of: value, toByteOffset: i, as: UInt8.self)
      }
    case .greyAlpha:
      for i in 0..<count {
        let pixel = pixels.loadUnaligned(fromByteOffset: i &* 4, as: UInt32.self)
        let pair = UInt16(truncatingIfNeeded: pixel & 255 | (pixel &>> 24) &<< 8)
        output.storeBytes(of: pair, toByteOffset: i &* 2, as: UInt16.self)
      }
    case .rgb:
      for i in 0..<count {
        let pixel = pixels.loadUnaligned(fromByteOffset: i &* 4, as: UInt32.self)
        output.storeBytes(of: pixel, toByteOffset: i &* 3, as: UInt32.self)
      }
    case .rgba:
      output.copyMemory(from: pixels, byteCount: count &* 4)
    case .palette:
      preconditionFailure("palettes are packed from indices")
    }
  }

  /// Packs palette indices, 8 / `bits` per byte, the leftmost pixel in the high bits. Spare bits at the row's end are
  /// 0.
  static func pack(
    _ indices: UnsafePointer<UInt8>, count: Int, bits: Int, into output: UnsafeMutablePointer<UInt8>
  ) {
    if bits == 8 {
      output.update(from: indices, count: count)
      return
    }
    let perByte = 8 / bits
    let whole = count / perByte
    switch bits {
    case 4:
      for i in 0..<whole {
        output[i] = indices[i &* 2] &<< 4 | indices[i &* 2 &+ 1]
      }
    case 2:
      for i in 0..<whole {
        let p = indices + i &* 4
        output[i] = p[0] &<< 6 | p[1] &<< 4 | p[2] &<< 2 | p[3]
      }
    default:
      for i in 0..<whole {
        let p = indices + i &* 8
        let high = p[0] &<< 7 | p[1] &<< 6 | p[2] &<< 5 | p[3] &<< 4
        output[i] = high | p[4] &<< 3 | p[5] &<< 2 | p[6] &<< 1 | p[7]
      }
    }
    if whole * perByte < count {
      var byte: UInt8 = 0
      for (place, i) in (whole * perByte..<count).enumerated() {
        byte |= indices[i] << UInt8(8 - bits * (place + 1))
      }
      output[whole] = byte
    }
  }
}

/// Reusable memory that grows and never shrinks.
final class ScratchBuffer {
  private(set) var bytes: UnsafeMutableRawPointer
  private(set) var capacity: Int

  init() {
    capacity = 16
    bytes = .allocate(byteCount: capacity, alignment: 16)
  }

  deinit { bytes.deallocate() }

  /// At least `byteCount` bytes, 16-byte aligned, uninitialised.
  func reserve(_ byteCount: Int) -> UnsafeMutableRawPointer {
    if byteCount > capacity {
      bytes.deallocate()
      capacity = byteCount
      bytes = .allocate(byteCount: capacity, alignment: 16)
    }
    return bytes
  }
}
