/// One band's samples in a row of pixels; `stride` counts samples.
struct BandRow {
  let base: UnsafeRawPointer
  let stride: Int

  var samples: UnsafePointer<UInt8> { base.assumingMemoryBound(to: UInt8.self) }

  /// Copies 8-bit samples to consecutive bytes.
  func gather(count: Int, into target: UnsafeMutablePointer<UInt8>) {
    let samples = base.assumingMemoryBound(to: UInt8.self)
    if stride == 1 {
      UnsafeMutableRawPointer(target).copyMemory(from: base, byteCount: count)
    } else {
      for i in 0..<count { target[i] = samples[i &* stride] }
    }
  }

  /// Unpacks samples of fewer than 8 bits to one byte each, most significant bits first (TIFF 6.0 section 8, FillOrder
  /// 1).
  static func unpack(
    _ source: UnsafeRawPointer, bits: Int, sampleCount: Int, into target: UnsafeMutablePointer<UInt8>
  ) {
    let bytes = source.assumingMemoryBound(to: UInt8.self)
    let mask = UInt32(1) << UInt32(bits) &- 1
    var position = 0
    for i in 0..<sampleCount {
      let byte = position >> 3
      let shift = 16 &- bits &- (position & 7)
      // Two bytes hold any sample of up to 8 bits; the second may be a slack byte.
      let pair = UInt32(bytes[byte]) << 8 | UInt32(bytes[byte &+ 1])
      target[i] = UInt8(truncatingIfNeeded: pair >> UInt32(shift) & mask)
      position &+= bits
    }
  }

  /// Unpacks samples of 9 to 15 bits to 16-bit ones, most significant bits first.
  static func unpackWide(
    _ source: UnsafeRawPointer, bits: Int, sampleCount: Int, into target: UnsafeMutablePointer<UInt16>
  ) {
    let bytes = source.assumingMemoryBound(to: UInt8.self)
    let mask = UInt32(1) << UInt32(bits) &- 1
    var position = 0
    for i in 0..<sampleCount {
      let byte = position >> 3
      // Three bytes hold any sample of up to 16 bits; the last two may be slack bytes.
      let three = UInt32(bytes[byte]) << 16 | UInt32(bytes[byte &+ 1]) << 8 | UInt32(bytes[byte &+ 2])
      target[i] = UInt16(truncatingIfNeeded: three >> UInt32(24 &- bits &- (position & 7)) & mask)
      position &+= bits
    }
  }

  /// Maps samples to 0...255 by `scale`, and sets `isData` where a sample is not nodata.
  ///
  /// `isData` is never cleared: a pixel counts as data if one of its bands has data.
  func scale(
    count: Int, layout: TIFFLayout, by scale: SampleScale, nodata: NodataValue?, isInverted: Bool,
    into target: UnsafeMutablePointer<UInt8>, isData: UnsafeMutablePointer<UInt8>
  ) {
    func run<Sample>(_ type: Sample.Type, _ value: (Sample) -> Double) {
      Self.scale(
        base, stride: stride, count: count, by: scale, nodata: nodata, isInverted: isInverted, into: target,
        isData: isData, value: value)
    }
    switch (layout.format, layout.bits) {
    case (.unsigned, 8): run(UInt8.self) { Double($0) }
    case (.unsigned, 9...16): run(UInt16.self) { Double($0) }
    case (.unsigned, 32): run(UInt32.self) { Double($0) }
    case (.unsigned, 64): run(UInt64.self) { Double($0) }
    case (.signed, 8): run(Int8.self) { Double($0) }
    case (.signed, 16): run(Int16.self) { Double($0) }
    case (.signed, 32): run(Int32.self) { Double($0) }
    case (.signed, 64): run(Int64.self) { Double($0) }
    case (.float, 16): run(UInt16.self) { HalfFloat.value($0) }
    case (.float, 32): run(Float.self) { Double($0) }
    case (.float, 64): run(Double.self) { $0 }
    default: preconditionFailure("such samples are refused when the file is opened")
    }
  }

  /// A sample as a number. Slow; meant for a few samples.
  func value(_ index: Int, layout: TIFFLayout) -> Double {
    func sample<Sample>(_ type: Sample.Type) -> Sample { base.assumingMemoryBound(to: Sample.self)[index &* stride] }
    switch (layout.format, layout.bits) {
    case (.unsigned, 1...8): return Double(sample(UInt8.self))
    case (.unsigned, 9...16): return Double(sample(UInt16.self))
    case (.unsigned, 32): return Double(sample(UInt32.self))
    case (.unsigned, 64): return Double(sample(UInt64.self))
    case (.signed, 64): return Double(sample(Int64.self))
    case (.signed, 8): return Double(sample(Int8.self))
    case (.signed, 16): return Double(sample(Int16.self))
    case (.signed, 32): return Double(sample(Int32.self))
    case (.float, 16): return HalfFloat.value(sample(UInt16.self))
    case (.float, 32): return Double(sample(Float.self))
    case (.float, 64): return sample(Double.self)
    default: return .nan
    }
  }

  /// Whether ``scale(count:layout:by:nodata:isInverted:into:isData:)`` supports the sample format.
  static func canScale(_ layout: TIFFLayout) -> Bool {
    switch (layout.format, layout.bits) {
    case (.unsigned, 8...16), (.unsigned, 32), (.unsigned, 64): true
    case (.signed, 8), (.signed, 16), (.signed, 32), (.signed, 64): true
    case (.float, 16), (.float, 32), (.float, 64): true
    default: false
    }
  }

  @inline(__always)
  private static func scale<Sample>(
    _ base: UnsafeRawPointer, stride: Int, count: Int, by scale: SampleScale, nodata: NodataValue?, isInverted: Bool,
    into target: UnsafeMutablePointer<UInt8>, isData: UnsafeMutablePointer<UInt8>, value: (Sample) -> Double
  ) {
    let samples = base.assumingMemoryBound(to: Sample.self)
    // Without a nodata value, an empty range that no sample lies in.
    let (nodataLow, nodataHigh) = nodata.map { $0.isNaN ? (1.0, 0.0) : ($0.low, $0.high) } ?? (1.0, 0.0)
    let flip: UInt8 = isInverted ? 255 : 0
    for i in 0..<count {
      let sample = value(samples[i &* stride])
      // Comparisons with NaN are false, so NaN is nodata and becomes 0.
      let isPresent = sample == sample && !(sample >= nodataLow && sample <= nodataHigh)
      let scaled = scale.level(sample) + 0.5
      let clamped = scaled > 0 ? (scaled < 255.5 ? scaled : 255) : 0
      target[i] = UInt8(truncatingIfNeeded: Int32(clamped)) ^ flip
      isData[i] |= isPresent ? 1 : 0
    }
  }
}

/// IEEE 754 binary16; Swift's `Float16` does not exist on every platform.
private enum HalfFloat {
  static func value(_ bits: UInt16) -> Double {
    let sign: Double = bits >> 15 == 0 ? 1 : -1
    let exponent = Int(bits >> 10 & 0x1f)
    let fraction = Double(bits & 0x3ff)
    switch exponent {
    case 0: return sign * fraction / 16_777_216
    case 31: return fraction == 0 ? sign * .infinity : .nan
    default: return sign * (1 + fraction / 1024) * Double(sign: .plus, exponent: exponent - 15, significand: 1)
    }
  }
}

extension BandRow {
  /// Converts samples to words of ``HeightCode``; nodata and NaN are transparent.
  func heights(count: Int, layout: TIFFLayout, nodata: NodataValue?, into words: UnsafeMutablePointer<UInt32>) {
    for i in 0..<count {
      let value = value(i, layout: layout)
      words[i] = value.isNaN || nodata?.matches(value) == true ? 0 : HeightCode.word(value)
    }
  }
}
