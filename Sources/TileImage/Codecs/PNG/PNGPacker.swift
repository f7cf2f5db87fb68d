/// Lays pixels out in a form's rows, before filtering.
enum PNGPacker {
  /// Packs RGBA8 pixels into grey, grey and alpha, RGB or RGBA samples.
  ///
  /// - Parameter output: as many bytes as the form needs, and 4 more: a pixel is stored as a word whose surplus bytes the next overwrites.
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

  /// Packs palette indices, 8 / `bits` to a byte, the leftmost pixel in the high bits; spare bits at the row's end are 0.
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
