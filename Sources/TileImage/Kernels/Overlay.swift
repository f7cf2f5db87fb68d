/// Composites one image over another (Porter-Duff source over), both straight RGBA8.
package enum Overlay {
  /// Draws `top` over `bottom`, in place.
  ///
  /// - Precondition: both buffers have the same size.
  package static func draw(_ top: PixelBuffer, over bottom: PixelBuffer) {
    precondition(top.width == bottom.width && top.height == bottom.height, "buffers of different sizes")
    draw(top.bytes, over: bottom.bytes, count: top.width * top.height)
  }

  /// Composites `count` pixels over as many others, in place.
  ///
  /// Where the top is opaque its bytes are copied, where it is transparent the bottom's stay. In between, the exact
  /// result is rounded to the nearest integer.
  package static func draw(_ top: UnsafeRawPointer, over bottom: UnsafeMutableRawPointer, count: Int) {
    for i in 0..<count {
      let over = top.loadUnaligned(fromByteOffset: i &* 4, as: UInt32.self)
      let overAlpha = over &>> 24
      if overAlpha == 0 { continue }
      let under = bottom.loadUnaligned(fromByteOffset: i &* 4, as: UInt32.self)
      let result = overAlpha == 255 || under &>> 24 == 0 ? over : blend(over, under)
      bottom.storeBytes(of: result, toByteOffset: i &* 4, as: UInt32.self)
    }
  }

  /// Draws premultiplied pixels over straight ones, in place. Where these are transparent, only what is drawn is seen.
  ///
  /// - Parameters:
  ///   - words: as many as the buffer has: alpha in the highest byte, then red, green and blue, as cairo has them.
  ///   - insideOnly: keeps the buffer's alpha (Porter-Duff source atop).
  package static func draw(premultiplied words: UnsafePointer<UInt32>, over bottom: PixelBuffer, insideOnly: Bool) {
    for i in 0..<(bottom.width * bottom.height) {
      let over = words[i]
      let alpha = over &>> 24
      if alpha == 0 { continue }
      let under = bottom.bytes.loadUnaligned(fromByteOffset: i &* 4, as: UInt32.self)
      let own = under &>> 24
      if insideOnly, own == 0 { continue }
      // In units of 1/255^2, as in ``blend(_:_:)``.
      let rest = insideOnly ? 255 &* (255 &- alpha) : own &* (255 &- alpha)
      let sum = insideOnly ? 65025 : alpha &* 255 &+ rest
      let half = sum &>> 1
      let red = ((over &>> 16 & 255) &* 65025 &+ (under & 255) &* rest &+ half) / sum
      let green = ((over &>> 8 & 255) &* 65025 &+ (under &>> 8 & 255) &* rest &+ half) / sum
      let blue = ((over & 255) &* 65025 &+ (under &>> 16 & 255) &* rest &+ half) / sum
      let result = insideOnly ? own : (sum &+ 127) / 255
      let word = min(red, 255) | min(green, 255) &<< 8 | min(blue, 255) &<< 16 | result &<< 24
      bottom.bytes.storeBytes(of: result == 0 ? 0 : word, toByteOffset: i &* 4, as: UInt32.self)
    }
  }

  @inline(__always)
  private static func blend(_ over: UInt32, _ under: UInt32) -> UInt32 {
    // The two weights in units of 1/255^2. Their sum is the resulting alpha in the same unit and never 0 here.
    let a = (over &>> 24) &* 255
    let b = (under &>> 24) &* (255 &- over &>> 24)
    let sum = a &+ b
    let half = sum &>> 1
    let red = ((over & 255) &* a &+ (under & 255) &* b &+ half) / sum
    let green = ((over &>> 8 & 255) &* a &+ (under &>> 8 & 255) &* b &+ half) / sum
    let blue = ((over &>> 16 & 255) &* a &+ (under &>> 16 & 255) &* b &+ half) / sum
    let alpha = (sum &+ 127) / 255
    return red | green &<< 8 | blue &<< 16 | alpha &<< 24
  }
}

extension PixelBuffer {
  /// Composites every pixel over an opaque background, in place. Afterwards the buffer is opaque.
  ///
  /// Channels are rounded to the nearest integer; opaque pixels keep their bytes. The background's alpha is ignored.
  package func composite(over background: RGBA) {
    let count = width * height
    let red = UInt32(background.red)
    let green = UInt32(background.green)
    let blue = UInt32(background.blue)
    let backdrop = background.word | 0xff00_0000
    for i in 0..<count {
      let pixel = bytes.loadUnaligned(fromByteOffset: i &* 4, as: UInt32.self)
      let alpha = pixel &>> 24
      if alpha == 255 { continue }
      var result = backdrop
      if alpha > 0 {
        let rest = 255 &- alpha
        let r = ((pixel & 255) &* alpha &+ red &* rest &+ 127) / 255
        let g = ((pixel &>> 8 & 255) &* alpha &+ green &* rest &+ 127) / 255
        let b = ((pixel &>> 16 & 255) &* alpha &+ blue &* rest &+ 127) / 255
        result = r | g &<< 8 | b &<< 16 | 0xff00_0000
      }
      bytes.storeBytes(of: result, toByteOffset: i &* 4, as: UInt32.self)
    }
  }
}
